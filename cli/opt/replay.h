// taso-opt follows its own certificate, by the code of taso-verify, before it says that all is well.
#pragma once

#include <string>
#include <vector>

#include "onnx/model/model.h"
#include "rules/language/rewrite_certificate.h"
#include "rules/language/rule.h"

namespace taso::cli {

/// Whether this build can follow certificates: one without Z3 cannot.
bool can_replay();

/// Why taso-verify would reject the certificate, in one line; empty if it would not, or if nothing here can tell.
/// `before` is as clean-ups saw it, `after` as it is to be written. Hashes do not count: the files need not be there.
std::string rejection_of(const rules::RewriteCertificate& certificate, const onnx::Model& before,
                         const onnx::Model& after, const std::vector<rules::Rule>& rules);

}  // namespace taso::cli
