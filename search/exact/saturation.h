// Equality saturation as a search: applies all rules of a region without choosing, chooses the cheapest graph by an
// integer program, and finds the steps that lead to it, so that the result has a certificate like any other.
//
// The choice is made by prices of single computations (cheapest.h), so the chosen graph may cost more than the integer
// program says. Steps are those applications of rules in the equality graph that made the chosen computations, and what
// these were made of. They are taken in that order in a single graph, again and again as long as one of them is
// possible. A single graph refuses some of them: it has room for one computation of each value, and what others still
// use is not taken away. Then the chosen graph is not reached. The result is the cheapest graph along the way, by the
// prices of real kernels, so it is never worse than the given one.
#pragma once

#include "search/exact/cheapest.h"
#include "search/region_solver.h"

namespace taso::search {

class Saturation : public RegionSolver {
 public:
  struct Options {
    /// Counts, never seconds, so that the result is the same everywhere.
    std::size_t most_computations = 400;
    std::size_t most_rounds = 2;
    std::size_t most_matches = 4'000;  ///< in one round
    std::size_t most_nodes = 20;       ///< of an integer program
    std::size_t most_solved = 3;       ///< integer programs for one choice
  };
  Saturation() = default;
  explicit Saturation(const Options& options) : options_(options) {}

  Solution solve(const Graph& graph, const Surroundings& surroundings, const std::vector<const RewriteRule*>& rules,
                 const cost::KernelPrices& prices, const ExplorationOptions& options) const override;

 private:
  Options options_;
};

}  // namespace taso::search
