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
Compared compared(const Task& task, Candidate candidate, std::future<onnx::CheckResult> comparison) {
  try {
    candidate.check = comparison.get();
    if (candidate.check->passed) return {std::move(candidate), std::nullopt};
    Objection objection{candidate.check->reason, false};
    return {std::move(candidate), std::move(objection)};
  } catch (const onnx::Uncheckable& error) {
    task.console.say(Console::Level::detail, error.what());
    return {std::move(candidate), Objection{error.what(), true}};
  }
}

Compared compare(const Task& task, Candidate candidate) {
  const onnx::ModelView before = onnx::view_of(task.model), after = candidate.edit->view();
  auto comparison = std::async(std::launch::deferred, [&] { return onnx::compare(before, after, task.checking); });
  return compared(task, std::move(candidate), std::move(comparison));
}

/// Makes the draft while another thread compares the models: both take long, and nearly always both succeed. What goes
/// wrong with the draft counts only if the comparison succeeds, as if it had come later.
Compared compare_and_draft(const Task& task, Candidate candidate) {
  if (thread_count(task.options.jobs) == 1) return compare(task, std::move(candidate));
  const onnx::ModelView before = onnx::view_of(task.model), after = candidate.edit->view();
  auto comparison = std::async([&] { return onnx::compare(before, after, task.checking); });
  std::exception_ptr trouble;
  try {
    candidate.draft = draft_of(task, candidate);
  } catch (...) {
    trouble = std::current_exception();
  }
  Compared result = compared(task, std::move(candidate), std::move(comparison));
  if (trouble && !result.objection) std::rethrow_exception(trouble);
  return result;
}

/// Searches again without some rules.
Compared improve_without(const Task& task, const std::set<std::string>& without, const Objection& objection) {
  SearchRules fewer = task.rules;
  std::erase_if(fewer.rules, [&](const rules::Rule& rule) { return without.contains(rule.name); });
  Candidate found = improve(task, clean(task), fewer);
  found.search->rules = task.rules.rules.size();
  found.search->left_out.assign(without.begin(), without.end());
  found.search->objection = objection.text;
  if (!found.is_improved() && found.search->note.empty()) found.search->note = objection.text;
  return compare(task, std::move(found));
}

/// Leaves out the rules that the check objects to. First leaves out all rules that were used, to get a result that
/// passes; then tries them again one by one, starting with those that saved most. If the clean-ups alone fail, no rule
/// is to blame.
Compared without_bad_rules(const Task& task, const Candidate& found, const Objection& objection) {
  constexpr std::size_t most_tried = 6;
  std::vector<SearchSummary::Applied> used = found.search->applied;
  std::stable_sort(used.begin(), used.end(), [](const auto& a, const auto& b) { return a.saved > b.saved; });
  Compared cleaned = compare(task, give_up(task, found, objection.text));
  if (cleaned.objection || interrupted()) return cleaned;
  std::set<std::string> without;
  for (const SearchSummary::Applied& one : used) without.insert(one.rule);
  Compared best = improve_without(task, without, objection);
  if (best.objection) return compare(task, give_up(task, best.candidate, objection.text));  // others fail too
  // A time limit leaves no time for more searches.
  const std::size_t tried = task.options.time_budget || used.size() == 1 ? 0 : std::min(used.size(), most_tried);
  for (std::size_t i = 0; i < tried && !interrupted(); ++i) {
    std::set<std::string> fewer = without;
    fewer.erase(used[i].rule);
    Compared next = improve_without(task, fewer, objection);
    if (next.objection) continue;
    without = fewer;
    best = std::move(next);
  }
  return best;
}

}  // namespace

Candidate check(const Task& task, Candidate found) {
  if (task.options.samples == 0) return found;
  task.phases.begin("check", "comparing both models");
  Compared compared = compare_and_draft(task, std::move(found));
  if (compared.objection && compared.candidate.is_improved()) {
    compared = without_bad_rules(task, compared.candidate, *compared.objection);
    if (!compared.objection && task.options.confirm && compared.candidate.is_improved()) {
      compared.candidate = confirm(task, std::move(compared.candidate));
      if (!compared.candidate.is_improved()) compared = compare(task, std::move(compared.candidate));
    }
  }
  if (!compared.objection || !compared.objection->is_uncheckable) return std::move(compared.candidate);
  return leave_as_it_is(task, compared.candidate, compared.objection->text);
}

}  // namespace taso::cli
