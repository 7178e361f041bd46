#include <algorithm>
#include <exception>
#include <future>
#include <set>

#include "cli/console/interrupt.h"
#include "cli/opt/steps/steps.h"
#include "ops/support/threads.h"

namespace taso::cli {
namespace {

/// The check's reason against a candidate.
struct Objection {
  std::string text;
  bool is_uncheckable = false;  ///< the models could not be compared
};

/// A candidate after the comparison with the original.
struct Compared {
  Candidate candidate;
  std::optional<Objection> objection;
};

/// Waits for the comparison.
Compared compared(const OptRun& run, Candidate candidate, std::future<onnx::CheckResult> comparison) {
  try {
    candidate.check = comparison.get();
    if (candidate.check->passed) return {std::move(candidate), std::nullopt};
    Objection objection{candidate.check->reason, false};
    return {std::move(candidate), std::move(objection)};
  } catch (const onnx::Uncheckable& error) {
    run.console.say(Console::Level::detail, error.what());
    return {std::move(candidate), Objection{error.what(), true}};
  }
}

Compared compare(const OptRun& run, Candidate candidate) {
  const onnx::ModelView before = onnx::view_of(run.model), after = candidate.edit->view();
  auto comparison = std::async(std::launch::deferred, [&] { return onnx::compare(before, after, run.checking); });
  return compared(run, std::move(candidate), std::move(comparison));
}

/// Makes the draft while another thread compares the models: both take long, and nearly always both succeed. What goes
/// wrong with the draft counts only if the comparison succeeds, as if it had come later.
Compared compare_and_draft(const OptRun& run, Candidate candidate) {
  if (thread_count(run.options.jobs) == 1) return compare(run, std::move(candidate));
  const onnx::ModelView before = onnx::view_of(run.model), after = candidate.edit->view();
  auto comparison = std::async([&] { return onnx::compare(before, after, run.checking); });
  std::exception_ptr trouble;
  try {
    candidate.draft = draft_of(run, candidate);
  } catch (...) {
    trouble = std::current_exception();
  }
  Compared result = compared(run, std::move(candidate), std::move(comparison));
  if (trouble && !result.objection) std::rethrow_exception(trouble);
  return result;
}

/// Searches again without some rules.
Compared improve_without(const OptRun& run, const std::set<std::string>& without, const Objection& objection) {
  SearchRules fewer = run.rules;
  std::erase_if(fewer.rules, [&](const rules::Rule& rule) { return without.contains(rule.name); });
  Candidate found = improve(run, clean(run), fewer);
  found.search->rules = run.rules.rules.size();
  found.search->left_out.assign(without.begin(), without.end());
  found.search->objection = objection.text;
  if (!found.is_improved() && found.search->note.empty()) found.search->note = objection.text;
  return compare(run, std::move(found));
}

/// Leaves out the rules that the check objects to. First leaves out all rules that were used, to get a result that
/// passes; then tries them again one by one, starting with those that saved most. If the clean-ups alone fail, no rule
/// is to blame.
Compared without_bad_rules(const OptRun& run, const Candidate& found, const Objection& objection) {
  constexpr std::size_t most_tried = 6;
  std::vector<SearchSummary::Applied> used = found.search->applied;
  std::stable_sort(used.begin(), used.end(), [](const auto& a, const auto& b) { return a.saved > b.saved; });
  Compared cleaned = compare(run, give_up(run, found, objection.text));
  if (cleaned.objection || interrupted()) return cleaned;
  std::set<std::string> without;
  for (const SearchSummary::Applied& one : used) without.insert(one.rule);
  Compared best = improve_without(run, without, objection);
  if (best.objection) return compare(run, give_up(run, best.candidate, objection.text));  // others fail too
  // A time limit leaves no time for more searches.
  const std::size_t tried = run.options.time_budget || used.size() == 1 ? 0 : std::min(used.size(), most_tried);
  for (std::size_t i = 0; i < tried && !interrupted(); ++i) {
    std::set<std::string> fewer = without;
    fewer.erase(used[i].rule);
    Compared next = improve_without(run, fewer, objection);
    if (next.objection) continue;
    without = fewer;
    best = std::move(next);
  }
  return best;
}

}  // namespace

Candidate check(const OptRun& run, Candidate found) {
  if (run.options.samples == 0 || found.is_untouched) return found;
  run.phases.begin("check", "comparing both models");
  Compared compared = compare_and_draft(run, std::move(found));
  if (compared.objection && compared.candidate.is_improved()) {
    compared = without_bad_rules(run, compared.candidate, *compared.objection);
    if (!compared.objection && (run.options.confirm || run.runtime != nullptr) && compared.candidate.is_improved()) {
      compared.candidate = confirm(run, std::move(compared.candidate));
      if (!compared.candidate.is_improved()) compared = compare(run, std::move(compared.candidate));
    }
  }
  if (!compared.objection || !compared.objection->is_uncheckable) return std::move(compared.candidate);
  return leave_as_it_is(run, compared.candidate, compared.objection->text);
}

}  // namespace taso::cli
