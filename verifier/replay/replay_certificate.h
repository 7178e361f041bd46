// Checks a certificate from beginning to end: from one model to the other. Matching, rewriting and comparing are code
// of their own; what models and operators mean (ops/) and what rules say (rules/) is shared with what made it, and
// trusted.
#pragma once

#include <optional>
#include <string>

#include "onnx/model/model.h"
#include "rules/language/rewrite_certificate.h"
#include "rules/language/rule.h"

namespace taso::verifier {

struct CertificateVerdict {
  bool accepted = false;
  std::string reason;               ///< why not
  std::optional<std::size_t> step;  ///< the step that cannot be followed, counted from 1
};

/// `before` is the input as clean-ups see it: validated, its input shapes overwritten. `rules` are all proved. Hashes
/// are the caller's business. Throws InputError when a model cannot be read.
CertificateVerdict replay_certificate(const rules::RewriteCertificate& certificate, const onnx::Model& before,
                                      const onnx::Model& after, const std::vector<rules::Rule>& rules);

}  // namespace taso::verifier
