// How cheap a graph could be at best: a lower limit of the cost of all graphs that rules lead to, and so how far a
// result is from the best.
//
// An equality graph (equality_graph.h) stands for these graphs, and an integer program chooses the cheapest by the
// least prices of computations (cheapest.h). The bound is about the sum of the kernels' prices in one layout. It holds
// for all graphs of the equality graph: if that is saturated, for all that the rules lead to; if not, for all that are
// made of the computations seen.
#pragma once

#include "search/exact/cheapest.h"

namespace taso::search {

struct BoundOptions {
  SaturationOptions saturation;
  CheapestOptions choosing;  ///< by least prices
};

struct Bound : Cheapest {
  EqualityGraph::End saturation;  ///< how far the rules were applied
};

/// `result` is another graph of the same pool that the rules lead to, or the same one: what it uses is always included.
/// Needs CBC.
Bound bound_of(const Graph& graph, const Graph& result, const std::vector<const RewriteRule*>& rules,
               const cost::KernelPrices& prices, const BoundOptions& options = {});

}  // namespace taso::search
