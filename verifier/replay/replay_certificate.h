// Checks a certificate from beginning to end: from one model to the other. Matching, rewriting and comparing are
// independent code; the meaning of models and operators (onnx/, ops/) and of rules (rules/) is shared with the search,
// and trusted.
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
  std::optional<std::size_t> step;  ///< the step that fails, counted from 1
  /// What the replay was at when it ended.
  enum class Phase { frame, written, clean_ups, steps, after, comparison, done } phase = Phase::frame;
};

/// `before` is the input as clean-ups see it: validated, with input shapes overwritten. All `rules` are proved. The
/// caller checks hashes. Throws InputError if a model cannot be read.
CertificateVerdict replay_certificate(const rules::RewriteCertificate& certificate, const onnx::Model& before,
                                      const onnx::Model& after, const std::vector<rules::Rule>& rules);

}  // namespace taso::verifier
