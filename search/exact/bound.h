// How cheap a graph could be at best: a lower limit of the cost of all graphs that rules lead to, and so how far a
// result is from the best.
//
// An equality graph (equality_graph.h) stands for these graphs, and an integer program chooses the cheapest. What a
// kernel costs depends on what is fused with it and where its operands lie, so each computation has only a part of the
// price: the least price of a kernel in which it does the work (KernelPrices::least), or nothing if it may be a part of
// another's kernel. The sum is never above the cost of the graph's plan:
//
// - convolutions, products, reductions, pooling, padding and opaque operators are the work of a kernel each. A softmax
//   may be a part of attention, and so may the product before it; these cost nothing, and the product after it costs
//   the less of a product and of attention.
// - element-wise operators may follow a product or a reduction, or come before a reduction. Otherwise the last one of a
//   kernel pays for all of them.
// - all other operators, and conversions between layouts, may move no data, and cost nothing.
//
// The bound is about the sum of the kernels' prices in one layout. It holds for all graphs of the equality graph: if
// that is saturated, for all that the rules lead to; if not, for all that are made of the computations seen. That the
// weights of a graph grow, or cannot be computed ahead, does not count against it here.
#pragma once

#include "cost/plan/plan.h"
#include "search/exact/equality_graph.h"

namespace taso::search {

struct BoundOptions {
  SaturationOptions saturation;
  std::size_t most_nodes = 200;  ///< of the integer program
  std::size_t most_solved = 12;  ///< integer programs, each with more rows against cycles than the one before
  cost::PlanOptions pricing;
};

struct Bound {
  cost::Cost least = 0;           ///< no graph costs less
  EqualityGraph::End saturation;  ///< how far the rules were applied
  std::size_t computations = 0;   ///< different ones, in all these graphs
  std::size_t values = 0;         ///< classes of equal values
  std::size_t solved = 0;         ///< integer programs
  bool is_exact = false;          ///< some graph has this sum of least prices; otherwise the limit is lower still
};

/// `result` is another graph of the same pool that the rules lead to, or the same one: what it uses is always included.
/// Needs CBC.
Bound bound_of(const Graph& graph, const Graph& result, const std::vector<const RewriteRule*>& rules,
               const cost::KernelPrices& prices, const BoundOptions& options = {});

}  // namespace taso::search
