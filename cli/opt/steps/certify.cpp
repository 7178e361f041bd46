#include <fmt/format.h>

#include "cli/console/exit_code.h"
#include "cli/opt/certificate.h"
#include "cli/opt/replay.h"
#include "cli/opt/steps/steps.h"
#include "ops/core/error.h"

namespace taso::cli {
namespace {

/// The next candidate after a certificate was rejected: clean-ups only, then the untouched model.
Candidate fall_back(const Task& task, const Candidate& rejected, const std::string& rejection) {
  const std::string reason = fmt::format("its certificate is rejected: {}", rejection);
  if (rejected.is_improved()) return check(task, give_up(task, rejected, reason));
  if (!rejected.is_untouched) return leave_as_it_is(task, rejected, reason);
  throw InternalError(fmt::format("the certificate of an untouched model is rejected: {}", rejection));
}

}  // namespace

Certified certify(const Task& task, rules::RewriteCertificate certificate, Candidate found, const Spoil& spoil) {
  Certified done{std::move(found), std::move(certificate), std::nullopt, std::nullopt, {}};
  for (;;) {
    task.phases.begin("replay", "replaying the certificate");
    Candidate& candidate = done.candidate;
    // The graphs refer to nodes of the edit, which is committed below.
    done.before = figures_before(task, candidate);
    done.after = figures_after(task, candidate);
    done.assumed =
        candidate.cleaned ? pricing::assumed_sizes(candidate.cleaned->graph, task.shapes) : pricing::AssumedSizes();
    candidate.cleaned.reset();
    complete(done.certificate, candidate);
    if (spoil) spoil(done.certificate);
    const bool says_something =
        !done.certificate.steps.empty() || !done.certificate.before.empty() || !done.certificate.after.empty();
    if (says_something && !can_replay())
      task.console.warning(
          "the certificate is not replayed, because this build has no prover; taso-verify --certificate of a build "
          "with Z3 can replay it");
    if (!says_something || !can_replay()) {
      task.model = onnx::GraphEdit::commit(std::move(candidate.edit), std::move(task.model));
      return done;
    }
    onnx::Model original = task.model.copy();
    task.model = onnx::GraphEdit::commit(std::move(candidate.edit), std::move(task.model));
    const bool has_failed = candidate.check && !candidate.check->passed;
    const std::string rejection =
        has_failed ? "" : rejection_of(done.certificate, original, task.model, task.rules.rules);
    if (rejection.empty()) return done;
    task.console.warning(
        fmt::format("the changes to {} are undone, because their certificate is rejected ({}); this is a bug in "
                    "taso, please report it",
                    on_one_line(task.options.input.string()), on_one_line(rejection)));
    task.model = std::move(original);
    candidate = with_file_name(task.options.input, [&] { return fall_back(task, candidate, rejection); });
  }
}

}  // namespace taso::cli
