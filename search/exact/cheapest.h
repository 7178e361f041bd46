// The cheapest graph of an equality graph, chosen by an integer program.
//
// What a kernel costs depends on what is fused with it and where its operands lie, but an integer program of reasonable
// size gives each computation one price. There are two kinds of them:
//
// - least: the least price of a kernel in which the computation does the work (KernelPrices::least), or nothing if it
//   may be a part of another's kernel. The sum is never above the cost of the graph's plan, so the choice bounds what
//   all graphs cost (bound.h):
//     - convolutions, products, reductions, pooling, padding and opaque operators are the work of a kernel each; or one
//       kernel of attention pays for the products and the softmax that it may compute.
//     - element-wise operators may follow a product or a reduction, or come before a reduction. Otherwise the last one
//       of a kernel pays for all of them.
//     - all other operators, and conversions between layouts, may move no data, and cost nothing. In ONNX Runtime,
//       transposes, slices and concats are calls of their own, unless they may be one with their neighbour.
//     - opaque operators that have a kernel of their own cost what they cost in a given graph, or nothing if they may
//       cost less in another.
// - alone: the price of the computation as a kernel of its own, except that element-wise operators may be fused as
//   above. This is close to what a graph costs, and so it is good for choosing a graph (saturation.h).
//
// That the weights of a graph grow, or cannot be computed ahead, does not count against it.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "cost/plan/plan.h"
#include "search/exact/equality_graph.h"

namespace taso::search {

enum class ComputationPrices : std::uint8_t { least, alone };

struct CheapestOptions {
  ComputationPrices prices = ComputationPrices::least;
  std::size_t most_nodes = 200;  ///< of the integer program; fewer if it is large
  std::size_t most_solved = 12;  ///< integer programs, each with more rows against cycles than the one before
  /// Ends after so many programs in sequence whose rows against cycles did not raise the bound by 0.1 %.
  std::size_t most_in_vain = 2;
  cost::PlanOptions pricing;
  std::vector<std::size_t> start;    ///< the nodes of a known graph, from which the solver starts
  std::function<bool()> should_end;  ///< asked now and then
};

struct Cheapest {
  cost::Cost least = 0;            ///< no graph has a smaller sum of these prices
  bool is_exact = false;           ///< the chosen graph has this sum; otherwise the limit is lower still
  std::vector<std::size_t> nodes;  ///< of the chosen graph; empty if none was found
  std::size_t computations = 0;    ///< different ones, in all graphs
  std::size_t values = 0;          ///< classes of equal values
  std::size_t solved = 0;          ///< integer programs
};

/// `given` are the graphs that the equality graph was made from. Needs CBC.
Cheapest cheapest_of(const EqualityGraph& graph, const std::vector<const Graph*>& given,
                     const cost::KernelPrices& prices, const CheapestOptions& options = {});

}  // namespace taso::search
