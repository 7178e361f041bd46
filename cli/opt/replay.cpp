#include "cli/opt/replay.h"

#ifdef TASO_VERIFIES
#include <fmt/format.h>

#include "ops/core/error.h"
#include "verifier/replay/replay.h"
#include "verifier/replay/replay_certificate.h"
#endif

namespace taso::cli {

#ifdef TASO_VERIFIES

bool can_replay() { return true; }

std::string rejection_of(const rules::RewriteCertificate& certificate, const onnx::Model& before,
                         const onnx::Model& after, const std::vector<rules::Rule>& rules) {
  // Compare the form that will be read: names that are not UTF-8 are written in another way.
  const rules::RewriteCertificate written = rules::as_read(certificate);
  try {
    const verifier::CertificateVerdict verdict = verifier::replay_certificate(written, before, after, rules);
    if (verdict.accepted) return "";
    if (!verdict.step) return verdict.reason;
    return fmt::format("step {} (rule '{}'): {}", *verdict.step, written.steps[*verdict.step - 1].rule, verdict.reason);
  } catch (const InputError& error) {
    return error.what();
  }
}

std::string graphs_after_steps(const rules::RewriteCertificate& certificate, const Graph& first,
                               const std::vector<rules::Rule>& rules, std::vector<Graph>& graphs) {
  verifier::Replay replay(first);
  verifier::ReplayRules ready(rules);
  graphs.assign(1, first);
  for (std::size_t i = 0; i < certificate.steps.size(); ++i) {
    if (const auto reason = replay.take(certificate.steps[i], ready))
      return fmt::format("step {} (rule '{}'): {}", i + 1, certificate.steps[i].rule, *reason);
    graphs.push_back(replay.graph());
  }
  return "";
}

#else

std::string graphs_after_steps(const rules::RewriteCertificate&, const Graph&, const std::vector<rules::Rule>&,
                               std::vector<Graph>&) {
  return "this build has no prover";
}

bool can_replay() { return false; }

std::string rejection_of(const rules::RewriteCertificate&, const onnx::Model&, const onnx::Model&,
                         const std::vector<rules::Rule>&) {
  return "";
}

#endif

}  // namespace taso::cli
