#include "tools/sweep/trials.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "cost/plan/movement.h"
#include "ops/core/random.h"
#include "ops/graph/operator.h"

namespace taso::sweep {
namespace {

std::string text_of(const InNetwork& view, const cost::Kernel& kernel) {
  std::string text = fmt::format("{}:", cost::name_of(kernel.kind));
  for (const cost::PlanNode node : kernel.nodes) text += fmt::format(" {}", ops::name_of(*view.op(node)));
  if (kernel.nodes.empty()) text += " conversion";
  for (const cost::PlanValue value : kernel.written) text += " " + ops::text_of(*view.extents(value));
  return text;
}

/// Comparable within a graph; 0 for kernels that only move data.
double work_of(const cost::Kernel& kernel) {
  using Kind = cost::Kernel::Kind;
  if (kernel.kind == Kind::pooling) return kernel.bytes;
  const bool is_product = kernel.kind == Kind::convolution || kernel.kind == Kind::matmul;
  return is_product ? kernel.batches * kernel.rows * kernel.columns * kernel.depth : 0;
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

/// The trial to measure next, the source's first; null if nothing is left to measure.
const Trial* next_trial(const Contest& contest, double slack) {
  const Trial& source = contest.best_source();
  if (!source.is_measured()) return &source;
  const Trial* const fastest = contest.best_result(true);
  const cost::Cost limit = source.figures.total;
  const cost::Cost best = fastest == nullptr ? limit : std::min(limit, fastest->figures.total);
  const auto next_of = [&](const std::vector<Trial>& trials) {
    const Trial* next = nullptr;
    for (const Trial& trial : trials) {
      const PlanFigures& figures = trial.figures;
      if (trial.is_measured() || figures.measured >= limit) continue;
      if (static_cast<double>(figures.total) > slack * static_cast<double>(best)) continue;
      if (next == nullptr || figures.total < next->figures.total) next = &trial;
    }
    return next;
  };
  const Trial* const other_layout = next_of(contest.source_trials);
  return other_layout != nullptr ? other_layout : next_of(contest.trials);
}

/// The kernels that decide whether it is worth going on: the longest, or all if it is less than half.
std::vector<pricing::MissingCalls::value_type> deciding_calls(const PlanFigures& figures) {
  const auto longest =
      std::max_element(figures.missing.begin(), figures.missing.end(),
                       [](const auto& a, const auto& b) { return a.second.predicted < b.second.predicted; });
  if (2 * longest->second.predicted > figures.total) return {*longest};
  return {figures.missing.begin(), figures.missing.end()};
}

/// False if the time is over.
bool measure_some(const std::vector<Contest*>& contests, pricing::Pricing& pricing, double slack) {
  std::set<std::string> asked;  // a measurement that lacks some figures is not repeated
  for (;;) {
    pricing::MissingCalls calls;
    for (Contest* const contest : contests) {
      reprice(*contest, pricing);
      const Trial* const trial = next_trial(*contest, slack);
      if (trial == nullptr) continue;
      for (auto& call : deciding_calls(trial->figures))
        if (!asked.contains(call.first)) calls.insert(std::move(call));
    }
    if (calls.empty()) return true;
    for (const auto& [text, call] : calls) asked.insert(text);
    if (pricing.is_late() || pricing.measure(calls) < calls.size()) return false;
  }
}

}  // namespace

PlanFigures figures_of(const InNetwork& view, const pricing::Pricing& pricing) {
  const cost::RecordedPrices& prices = pricing.times();
  PlanFigures figures;
  figures.layout = view.layout();
  std::vector<double> work;
  const auto add = [&](const cost::Kernel& kernel, cost::Cost price) {
    const bool is_measured = !prices.is_incomplete(view, kernel);
    figures.total += price;
    figures.kernels.push_back(
        {KernelFigures::Part::moving, text_of(view, kernel), static_cast<double>(price) * 1e-6, is_measured});
    work.push_back(work_of(kernel));
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
  const double most = work.empty() ? 0 : *std::max_element(work.begin(), work.end());
  for (std::size_t i = 0; i < work.size(); ++i)
    if (work[i] > 0)
      figures.kernels[i].part = 2 * work[i] < most ? KernelFigures::Part::correction : KernelFigures::Part::main;
  return figures;
}

double PlanFigures::share(KernelFigures::Part part) const {
  double those = 0, all = 0;
  for (const KernelFigures& kernel : kernels) {
    all += kernel.microseconds;
    those += kernel.part == part ? kernel.microseconds : 0;
  }
  return all > 0 ? those / all : 0;
}

const Trial& Contest::best_source() const {
  return *std::min_element(source_trials.begin(), source_trials.end(), [](const Trial& a, const Trial& b) {
    return std::pair(!a.is_measured(), a.figures.total) < std::pair(!b.is_measured(), b.figures.total);
  });
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
  std::vector<Contest*> order;
  for (Contest& contest : contests)
    if (!contest.results.empty()) order.push_back(&contest);
  constexpr std::uint64_t seed = 1;
  Random(seed).shuffle(order);
  // So many that the next kernels are compiled while others are measured.
  constexpr std::size_t at_once = 48;
  for (std::size_t begin = 0; begin < order.size(); begin += at_once) {
    const std::vector<Contest*> some(
        order.begin() + static_cast<std::ptrdiff_t>(begin),
        order.begin() + static_cast<std::ptrdiff_t>(std::min(begin + at_once, order.size())));
    const bool is_done = measure_some(some, pricing, slack);
    for (Contest* const contest : some) reprice(*contest, pricing);
    if (!is_done) return false;
  }
  return true;
}

}  // namespace taso::sweep
