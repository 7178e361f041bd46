#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/console/exit_code.h"
#include "cli/opt/certificate.h"
#include "cli/opt/replay.h"
#include "cli/opt/steps/steps.h"
#include "ops/core/error.h"

namespace taso::cli {
namespace {

/// The next candidate after a certificate was rejected: clean-ups only, then the untouched model.
Candidate fall_back(const OptRun& run, const Candidate& rejected, const std::string& rejection) {
  const std::string reason = fmt::format("its certificate is rejected: {}", rejection);
  if (rejected.is_improved()) return check(run, give_up(run, rejected, reason));
  if (!rejected.is_untouched) return leave_as_it_is(run, rejected, reason);
  throw InternalError(fmt::format("the certificate of an untouched model is rejected: {}", rejection));
}

/// Clean-ups of many forms, which compose: the check may not follow all of them.
constexpr std::array<std::string_view, 4> many_forms{"dead-branches", "neutral-operand", "sequences", "round-trips"};

bool has_many_forms(const Candidate& candidate) {
  return std::any_of(candidate.clean_ups.begin(), candidate.clean_ups.end(), [](const rules::CleanupStep& step) {
    return std::find(many_forms.begin(), many_forms.end(), step.pass) != many_forms.end();
  });
}

/// The same run without these.
struct SimplerRun {
  OptSettings options;
  rules::RewriteCertificate certificate;
  OptRun run;

  explicit SimplerRun(const OptRun& of)
      : options(of.options), certificate(of.certificate), run{of.model,    options,    of.checking, of.shapes,
                                                              of.rules,    of.pricing, of.console,  of.phases,
                                                              certificate, of.spoil,   of.runtime,  of.own_operators} {
    for (const std::string_view pass : many_forms) {
      options.disabled_passes.emplace(pass);
      certificate.disabled.emplace_back(pass);
    }
  }
};

bool says_something(const rules::RewriteCertificate& certificate) {
  return !certificate.steps.empty() || !certificate.before.empty() || !certificate.after.empty();
}

/// What the page shows of both models; nothing if they cannot be imported.
std::optional<Details> page_details(const OptRun& run, const Candidate& candidate) {
  const bool wanted = run.options.html || run.options.explain || run.options.annotate;
  if (!wanted || !candidate.cleaned) return std::nullopt;
  AppliedChanges applied;
  applied.objective = run.options.objective;
  applied.clean_ups = candidate.clean_ups;
  applied.clean_ups.insert(applied.clean_ups.end(), candidate.clean_ups_after.begin(), candidate.clean_ups_after.end());
  if (candidate.is_improved()) {
    applied.steps = candidate.search->steps;
    applied.names = candidate.search->names;
  }
  try {
    const onnx::ModelView original = onnx::view_of(run.model);
    ModelDetails before = details_of(original, *candidate.cleaned, run.shapes, run.pricing);
    if (!candidate.clean_ups.empty()) add_types(before, onnx::import_model(original));
    ModelDetails after = details_of(candidate.edit->view(), *candidate.edit->imported(), run.shapes, run.pricing);
    Details details = compare_details(std::move(before), std::move(after), std::move(applied), run.rules.rules);
    for (RuleDetails& rule : details.rules)
      if (const auto known = run.rules.by.find(rule.name); rule.by.empty() && known != run.rules.by.end())
        rule.by = known->second;
    return details;
  } catch (const InputError&) {
    return std::nullopt;
  }
}

bool has_failed(const Candidate& candidate) { return candidate.check && !candidate.check->passed; }

}  // namespace

Draft draft_of(const OptRun& run, Candidate& candidate) {
  Draft draft;
  // All that needs the graphs comes first: the graphs of a large model take much memory.
  draft.before = figures_before(run, candidate);
  draft.after = figures_after(run, candidate);
  if (candidate.cleaned) draft.assumed = pricing::assumed_sizes(candidate.cleaned->graph, run.shapes);
  if (candidate.coverage && draft.before) add_work(*candidate.coverage, *draft.before);
  draft.details = page_details(run, candidate);
  candidate.cleaned.reset();
  candidate.edit->forget_imported();
  draft.model = candidate.edit->edited_copy(run.model);
  draft.certificate = run.certificate;
  complete(draft.certificate, candidate);
  if (run.spoil) run.spoil(draft.certificate);
  if (says_something(draft.certificate) && can_replay() && !has_failed(candidate))
    draft.rejection = rejection_of(draft.certificate, run.model, *draft.model, run.rules.rules);
  return draft;
}

Candidate certify(const OptRun& given, Candidate found) {
  std::optional<SimplerRun> simpler;
  for (Candidate candidate = std::move(found);;) {
    const OptRun& run = simpler ? simpler->run : given;
    run.phases.begin("replay", "replaying the certificate");
    if (!candidate.draft) candidate.draft = draft_of(run, candidate);
    Draft& draft = *candidate.draft;
    if (says_something(draft.certificate) && !can_replay())
      run.console.warning(
          "the certificate is not replayed, because this build has no prover; taso-verify --certificate of a build "
          "with Z3 can replay it");
    if (has_failed(candidate) || draft.rejection.empty()) {
      candidate.edit.reset();
      run.model = std::move(*draft.model);
      draft.model.reset();
      correct_what_is_kept(candidate);
      return candidate;
    }
    // For ONNX Runtime, what is kept was found to be faster there: other clean-ups were not run.
    if (!simpler && !run.runtime && !candidate.is_improved() && has_many_forms(candidate)) {
      run.console.warning(fmt::format(
          "{} is cleaned up again without {}, because their certificate is rejected ({}); this is a bug in "
          "taso, please report it",
          on_one_line(run.options.input.string()), fmt::join(many_forms, ", "), on_one_line(draft.rejection)));
      simpler.emplace(given);
      candidate =
          with_file_name(run.options.input, [&] { return check(simpler->run, clean_again(simpler->run, candidate)); });
      continue;
    }
    run.console.warning(
        fmt::format("the changes to {} are undone, because their certificate is rejected ({}); this is a bug in "
                    "taso, please report it",
                    on_one_line(run.options.input.string()), on_one_line(draft.rejection)));
    candidate = with_file_name(run.options.input, [&] { return fall_back(run, candidate, draft.rejection); });
  }
}

}  // namespace taso::cli
