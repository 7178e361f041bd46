// Limits the length of kernels: chains and trees of thousands of operators become many kernels. The part of the graph
// that has to be priced again after a change thus stays small.
#pragma once

#include <vector>

#include "cost/plan/graph_view.h"

namespace taso::cost {

/// A kernel of more than `longest_uncut_kernel` operators is cut into parts of about `operators_of_part`.
inline constexpr std::size_t longest_uncut_kernel = 256, operators_of_part = 16;

/// Marks the values (by index) at which kernels end although fusion could continue. Empty for ordinary graphs.
std::vector<bool> find_cuts(const WholeGraph& graph);

}  // namespace taso::cost
