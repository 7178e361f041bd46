#include "cli/opt_search.h"

#include <algorithm>
#include <chrono>
#include <stop_token>
#include <unordered_set>

#include <fmt/format.h>

#include "cli/interrupt.h"
#include "cost/roofline.h"
#include "ops/kernels/threads.h"
#include "ops/onnx/export.h"
#include "ops/onnx/import.h"
#include "ops/onnx/proto.h"
#include "search/search.h"

namespace taso {
namespace {

double seconds(Cost picoseconds) { return static_cast<double>(picoseconds) * 1e-12; }

/// A line that is redrawn on a terminal, and every ten seconds a plain one elsewhere.
class Progress {
 public:
  Progress(Console& console, std::uint64_t budget) : console_(console), budget_(budget) {}
  void operator()(const SearchProgress& now) {
    const auto time = Clock::now();
    const double pause = console_.is_live() ? 0.1 : 10;
    if (std::chrono::duration<double>(time - said_).count() < pause) return;
    said_ = time;
    const std::string line = fmt::format(
        "searching: {} of {} graphs; best {:.1f} % of the cost; {:.0f} s", now.expanded, budget_,
        100.0 * static_cast<double>(now.best) / static_cast<double>(std::max<Cost>(now.before, 1)),
        std::chrono::duration<double>(time - start_).count());
    if (console_.is_live())
      console_.draw(line);
    else
      console_.say(Console::Level::result, line);
  }

 private:
  using Clock = std::chrono::steady_clock;
  Console& console_;
  std::uint64_t budget_;
  Clock::time_point start_ = Clock::now(), said_ = start_;
};

void count_applied(const std::vector<RewriteStep>& steps, SearchSummary& summary) {
  for (const RewriteStep& step : steps) {
    auto found = std::find_if(summary.applied.begin(), summary.applied.end(),
                              [&](const SearchSummary::Applied& one) { return one.rule == step.rule; });
    if (found == summary.applied.end()) found = summary.applied.insert(found, {step.rule, 0, 0});
    ++found->count;
    found->saved += seconds(step.cost_before) - seconds(step.cost_after);
  }
}

}  // namespace

void SearchSummary::give_up(const std::string& reason) {
  applied.clear();
  after = before;
  note = reason;
}

SearchSummary search_model(GraphEdit& edit, const std::vector<Rule>& rules, const OptOptions& options,
                           Console& console) {
  SearchSummary summary;
  summary.rules = rules.size();
  const Imported imported = import_model(edit.view());
  std::unordered_set<Value, HashValue> named;
  for (const auto& [name, value] : imported.values) named.insert(value);
  SearchOptions searching;
  searching.alpha = options.alpha;
  searching.budget = options.budget;
  searching.jobs = kernels::thread_count(options.jobs);
  if (options.time_budget) searching.time_budget = std::chrono::duration<double>(*options.time_budget);
  searching.is_named = [&](const Value& value) { return named.contains(value); };
  std::stop_source stop;
  Progress progress(console, options.budget);
  if (interrupted()) stop.request_stop();
  const SearchResult found =
      search(imported.graph, rules, Roofline(), searching, stop.get_token(), [&](const SearchProgress& now) {
        if (interrupted()) stop.request_stop();
        progress(now);
      });
  console.draw({});
  summary.end = std::string(text_of(found.end));
  summary.usable = found.counts.rules;
  summary.expanded = found.counts.expanded;
  summary.matched = found.counts.matched;
  summary.kept = found.counts.kept;
  summary.before = seconds(found.cost_before);
  summary.after = seconds(found.cost_after);
  count_applied(found.steps, summary);
  if (found.steps.empty()) return summary;
  if (!found.replacements.complete) {
    summary.give_up("the graph that was found cannot be told in terms of the model's values");
    return summary;
  }
  try {
    export_values(imported, {found.replacements.rewritten, found.replacements.merged}, edit);
  } catch (const InputError& error) {
    summary.give_up(fmt::format("the graph that was found cannot be written: {}", error.what()));
  }
  return summary;
}

}  // namespace taso
