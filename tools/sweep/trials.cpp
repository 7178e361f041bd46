#include "tools/sweep/trials.h"

#include <algorithm>

#include <fmt/format.h>

#include "cost/plan/movement.h"
#include "ops/graph/operator.h"

namespace taso::sweep {
namespace {

std::string text_of(const InNetwork& view, const cost::Kernel& kernel) {
  std::string text = fmt::format("{}:", cost::name_of(kernel.kind));
  for (const cost::PlanNode node : kernel.nodes) text += fmt::format(" {}", ops::name_of(*view.op(node)));
  return text + (kernel.nodes.empty() ? " conversion" : "");
}

/// The next operator of a network in NHWC reads images in this layout, so others are converted first.
bool needs_conversion(const InNetwork& view, cost::PlanValue output) {
  const Extents* const extents = view.extents(output);
  return view.layout() == cost::Layout::channels_last && view.has_images() && !view.is_weight(output) &&
         !cost::is_packed(*extents, cost::strides_in_memory(view, output), cost::Layout::channels_last);
}

void reprice(Contest& contest, pricing::Pricing& pricing) {
  pricing.set_cache_residency(contest.graph, {});
  for (auto* const trials : {&contest.source_trials, &contest.trials})
    for (Trial& trial : *trials) trial.figures = figures_of(*trial.view, pricing);
}

/// The trial to measure next; null if nothing is left to measure.
const Trial* next_trial(const Contest& contest, double slack) {
  const cost::Cost source = contest.best_source().figures.total;
  const Trial* const fastest = contest.best_result(true);
  const cost::Cost best = fastest == nullptr ? source : std::min(source, fastest->figures.total);
  const Trial* next = nullptr;
  for (const Trial& trial : contest.trials) {
    const PlanFigures& figures = trial.figures;
    if (trial.is_measured() || figures.measured >= source) continue;
    if (static_cast<double>(figures.total) > slack * static_cast<double>(best)) continue;
    if (next == nullptr || figures.total < next->figures.total) next = &trial;
  }
  return next;
}

/// The kernels that decide whether it is worth going on: the longest, or all if it is less than half.
void add_calls(const PlanFigures& figures, pricing::MissingCalls& calls) {
  const auto longest =
      std::max_element(figures.missing.begin(), figures.missing.end(),
                       [](const auto& a, const auto& b) { return a.second.predicted < b.second.predicted; });
  if (2 * longest->second.predicted > figures.total)
    calls.insert(*longest);
  else
    calls.insert(figures.missing.begin(), figures.missing.end());
}

}  // namespace

PlanFigures figures_of(const InNetwork& view, const pricing::Pricing& pricing) {
  const cost::RecordedPrices& prices = pricing.times();
  PlanFigures figures;
  figures.layout = view.layout();
  const auto add = [&](const cost::Kernel& kernel, cost::Cost price) {
    const bool is_measured = !prices.is_incomplete(view, kernel);
    figures.total += price;
    figures.kernels.push_back({text_of(view, kernel), static_cast<double>(price) * 1e-6, is_measured});
    if (is_measured) {
      figures.measured += price;
      return;
    }
    cost::Call call = cost::call_of(view, kernel, prices.precision()).call;
    const std::string text = cost::text_of(call);
    figures.missing.try_emplace(text, pricing::MissingCall{std::move(call), 0}).first->second.predicted += price;
  };
  for (const cost::Plan::Step& step : cost::plan(view, prices).steps) add(step.kernel, step.price);
  for (std::size_t i = 0; i < view.values(); ++i) {
    const cost::PlanValue value{static_cast<std::uint32_t>(i)};
    if (!view.is_output(value) || !needs_conversion(view, value)) continue;
    const cost::Kernel conversion = cost::Fusion(view).conversion(value);
    add(conversion, prices.price(view, conversion));
  }
  return figures;
}

const Trial& Contest::best_source() const {
  return *std::min_element(source_trials.begin(), source_trials.end(),
                           [](const Trial& a, const Trial& b) { return a.figures.total < b.figures.total; });
}

const Trial* Contest::best_result(bool only_measured) const {
  const Trial* best = nullptr;
  for (const Trial& trial : trials)
    if ((!only_measured || trial.is_measured()) && (best == nullptr || trial.figures.total < best->figures.total))
      best = &trial;
  return best;
}

const Trial* Contest::best_of(std::size_t result, bool only_measured) const {
  const Trial* best = nullptr;
  for (std::size_t i = 0; i < cost::layouts.size(); ++i) {
    const Trial& trial = trials[result * cost::layouts.size() + i];
    if ((!only_measured || trial.is_measured()) && (best == nullptr || trial.figures.total < best->figures.total))
      best = &trial;
  }
  return best;
}

void Contest::drop(std::size_t result) {
  results.erase(results.begin() + static_cast<std::ptrdiff_t>(result));
  const auto first = trials.begin() + static_cast<std::ptrdiff_t>(result * cost::layouts.size());
  trials.erase(first, first + static_cast<std::ptrdiff_t>(cost::layouts.size()));
}

Contest contest_of(const SweepOperator& one, const std::vector<RuleGroup>& groups, const ResultLimits& limits,
                   pricing::Pricing& pricing) {
  Contest contest;
  contest.source = one;
  contest.graph = one.graph();
  pricing.set_cache_residency(contest.graph, {});
  const auto trials_of = [&](const Graph& graph) {
    std::vector<Trial> trials;
    for (const cost::Layout layout : cost::layouts) {
      Trial& trial = trials.emplace_back();
      trial.view = std::make_unique<InNetwork>(graph, layout, one.has_images());
      trial.figures = figures_of(*trial.view, pricing);
    }
    return trials;
  };
  const auto price = [&](const Graph& graph) {
    const std::vector<Trial> trials = trials_of(graph);
    return std::min(trials[0].figures.total, trials[1].figures.total);
  };
  contest.source_trials = trials_of(contest.graph);
  contest.results = results_of(contest.graph, groups, limits, price);
  for (const SweepResult& result : contest.results)
    for (Trial& trial : trials_of(result.graph)) contest.trials.push_back(std::move(trial));
  return contest;
}

bool measure(std::vector<Contest>& contests, pricing::Pricing& pricing, double slack) {
  pricing::MissingCalls sources;
  for (const Contest& contest : contests)
    for (const Trial& trial : contest.source_trials)
      sources.insert(trial.figures.missing.begin(), trial.figures.missing.end());
  pricing.measure(sources);
  for (;;) {
    pricing::MissingCalls calls;
    for (Contest& contest : contests) {
      reprice(contest, pricing);
      if (!contest.best_source().is_measured()) continue;
      if (const Trial* const trial = next_trial(contest, slack)) add_calls(trial->figures, calls);
    }
    if (calls.empty())
      return std::all_of(contests.begin(), contests.end(),
                         [](const Contest& contest) { return contest.best_source().is_measured(); });
    if (pricing.is_late() || pricing.measure(calls) == 0) return false;
  }
}

}  // namespace taso::sweep
