// taso-verify --explain: why a rule is true or false, and how a certificate leads from one model to the other.
#pragma once

#include "cli/console/console.h"
#include "cli/console/exit_code.h"
#include "cli/verify/settings.h"
#include "onnx/model/model.h"
#include "rules/language/rewrite_certificate.h"
#include "rules/language/rule.h"
#include "verifier/replay/replay_certificate.h"

namespace taso::cli {

/// Explains one rule of the files on the standard output. The exit code is that of its verdict.
ExitCode explain_rule(const VerifySettings& settings, Console& console);

/// The replay of a certificate, line by line. `model` is the original; `verdict` says how far the replay came.
std::string explain_replay(const rules::RewriteCertificate& certificate, const onnx::Model& model,
                           const std::vector<rules::Rule>& rules, const verifier::CertificateVerdict& verdict);

}  // namespace taso::cli
