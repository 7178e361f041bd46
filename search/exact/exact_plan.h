// The kernels of a fixed graph, chosen exactly. Fusion (cost/plan/fusion.h) fuses whatever it can; with values cut, at
// which kernels end (cost/plan/cuts.h), it makes other kernels: an element-wise operator joins the other of its
// operands, a long row is divided elsewhere, or something is left by itself because that costs less. The choice is the
// cheapest of all sets of cuts, found by an integer program over all kernels that fusion makes with any cuts.
//
// The cost is the sum of the kernels' prices in one layout, as a plan states it: independent kernels that run
// concurrently, and repeated kernels that take less, do not count. Values are computed once, as in every plan.
#pragma once

#include <vector>

#include "cost/plan/plan.h"

namespace taso::search {

struct ExactPlanOptions {
  std::size_t most_groups = 20'000;  ///< sets of operators tried for one connected part
  std::size_t most_nodes = 10'000;   ///< of the integer program of one part
};

struct ExactPlan {
  cost::Cost given = 0;       ///< of the plan without further cuts
  cost::Cost best = 0;        ///< of the plan with the cuts
  cost::Cost bound = 0;       ///< no cuts make the plan cheaper than this
  std::vector<bool> cuts;     ///< by value of the view, for GraphView::set_cuts()
  std::size_t parts = 0;      ///< connected parts in which there is a choice
  std::size_t groups = 0;     ///< sets of operators that were tried
  std::size_t kernels = 0;    ///< of these, sets that are a kernel
  std::size_t too_large = 0;  ///< parts with more groups than allowed; they keep their kernels and are not in the bound
  cost::Cost unbounded = 0;   ///< the cost of these
};

/// Leaves the view as it was. Needs CBC.
ExactPlan exact_plan(cost::WholeGraph& view, const cost::KernelPrices& prices, const ExactPlanOptions& options = {});

}  // namespace taso::search
