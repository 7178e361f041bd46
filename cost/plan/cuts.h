// Where kernels end that would take more operators than any does: rows and trees of thousands are many kernels, so that
// what is near a change of the graph, and has to be priced again, stays small.
#pragma once

#include <vector>

#include "cost/plan/graph_view.h"

namespace taso::cost {

/// A kernel of more operators is cut, into parts of about so many.
inline constexpr std::size_t longest_uncut_kernel = 256, operators_of_part = 16;

/// By value: those that no kernel takes together with what uses them, although it could. None in ordinary graphs.
std::vector<bool> find_cuts(const WholeGraph& graph);

}  // namespace taso::cost
