// Another way to improve the regions of a graph, after the search or instead of it (exact/saturation.h).
#pragma once

#include <memory>
#include <vector>

#include "search/region.h"
#include "search/search.h"

namespace taso::search {

class RegionSolver {
 public:
  virtual ~RegionSolver() = default;

  struct Solution {
    std::unique_ptr<SolvedRegion> region;
    RegionGap gap;  ///< of the region's graph as it is given; `places` is left to others
  };
  /// Called from several threads.
  virtual Solution solve(const Graph& graph, const Surroundings& surroundings,
                         const std::vector<const RewriteRule*>& rules, const cost::KernelPrices& prices,
                         const ExplorationOptions& options) const = 0;
};

}  // namespace taso::search
