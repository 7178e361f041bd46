#include "search/exact/saturation.h"

#include <algorithm>
#include <tuple>

#include "ops/core/error.h"
#include "search/exact/way_to.h"

namespace taso::search {
namespace {

/// A region with the steps towards the graph that was chosen for it.
class SaturatedRegion : public SolvedRegion {
 public:
  SaturatedRegion(const Graph& graph, const Surroundings& surroundings, const cost::KernelPrices& prices,
                  const ExplorationOptions& options)
      : program_(store_, graph), prices_(program_, prices, options.pricing, options.growth), equal_(store_, program_) {
    prices_.set_border(border_of(program_, surroundings));
    equal_.freeze(frozen_in(program_, surroundings));
    before_ = prices_.total();
  }

  EqualityGraph& equal() { return equal_; }

  /// The nodes of the graph as it is given.
  std::vector<std::size_t> given_nodes() const {
    std::vector<std::size_t> nodes;
    for (const ComputationId id : program_.computations()) nodes.push_back(*equal_.node_of(id));
    return nodes;
  }

  /// Goes towards the graph of these nodes and keeps the steps up to the cheapest graph. Returns how many steps were
  /// possible, and whether they reach it.
  std::pair<std::size_t, bool> follow(const std::vector<std::size_t>& chosen) {
    WayTo way(program_, equal_, chosen);
    steps_ = way.follow(prices_, before_);
    const std::size_t possible = steps_.size();
    const bool is_reached = way.is_reached();
    std::size_t best = 0;
    for (std::size_t i = 0; i < steps_.size(); ++i)
      if (steps_[i].after < (best == 0 ? before_ : steps_[best - 1].after) && prices_.allows(steps_[i].after))
        best = i + 1;
    for (; steps_.size() > best; steps_.pop_back()) program_.undo(steps_.back().log);
    return {possible, is_reached};
  }

  const GraphCost& cost_before() const override { return before_; }
  const GraphCost& cost() const override { return steps_.empty() ? before_ : steps_.back().after; }
  const Program& program() const override { return program_; }
  void retrace(const std::function<void(const Step&)>& take) override {
    for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) program_.undo(step->log);
    for (const Applied& step : steps_) {
      take({*step.match, step.log, step.made, step.after - step.before});
      program_.redo(step.log);
    }
  }

 private:
  Store store_;
  Program program_;
  Prices prices_;
  EqualityGraph equal_;
  GraphCost before_;
  std::vector<Applied> steps_;
};

}  // namespace

RegionSolver::Solution Saturation::solve(const Graph& graph, const Surroundings& surroundings,
                                         const std::vector<const RewriteRule*>& rules, const cost::KernelPrices& prices,
                                         const ExplorationOptions& options) const {
  auto region = std::make_unique<SaturatedRegion>(graph, surroundings, prices, options);
  SaturationOptions saturating;
  saturating.most_computations = options_.most_computations;
  saturating.most_rounds = 1;
  saturating.most_matches = options_.most_matches;
  saturating.keeps_steps = true;
  saturating.should_end = options.should_end;
  const std::vector<std::size_t> given = region->given_nodes();  // before classes grow
  CheapestOptions bounding;
  bounding.pricing = options.pricing;
  bounding.should_end = options.should_end;
  const auto choose = [&] {
    CheapestOptions choosing = bounding;
    choosing.prices = ComputationPrices::alone;
    choosing.most_nodes = options_.most_nodes;
    choosing.most_solved = options_.most_solved;
    for (const std::size_t node : given) choosing.start.push_back(region->equal().node(node));
    return cheapest_of(region->equal(), {&graph}, prices, choosing);
  };

  // Each round makes the integer programs much harder. So the first one's bound counts, unless all graphs are seen, and
  // its choice, unless a later one is solved to the end.
  EqualityGraph::End end = region->equal().saturate(rules, saturating);
  Cheapest bound = cheapest_of(region->equal(), {&graph}, prices, bounding), best = choose();
  for (std::size_t rounds = 1; rounds < options_.most_rounds && !end.is_saturated; ++rounds) {
    const EqualityGraph::End more = region->equal().saturate(rules, saturating);
    if (more.is_saturated) {
      end.is_saturated = true;
      end.rounds = rounds + 1;
      bound = cheapest_of(region->equal(), {&graph}, prices, bounding);
    }
    if (Cheapest later = choose(); later.is_exact) best = std::move(later);
    if (more.rounds == 0) break;  // a limit was reached
  }
  for (std::size_t& node : best.nodes) node = region->equal().node(node);

  Solution solution;
  RegionGap& gap = solution.gap;
  gap.operators = static_cast<std::size_t>(region->cost_before().operators);
  gap.cost = region->cost_before().price;
  check(bound.least <= gap.cost, "no graph costs less than its bound");
  gap.least = bound.least;
  gap.computations = bound.computations;
  gap.rounds = end.rounds;
  gap.is_saturated = end.is_saturated;
  gap.is_exact = bound.is_exact;
  gap.chosen = best.nodes.empty() ? 0 : best.least;
  if (!best.nodes.empty()) std::tie(gap.steps, gap.is_reached) = region->follow(best.nodes);
  solution.region = std::move(region);
  return solution;
}

}  // namespace taso::search
