// Opaque operators that our kernels compute element by element, in either layout.
#pragma once

#include <optional>

#include "cost/plan/graph_view.h"

namespace taso::cost {

/// The function of such a node, with its axis counted from the front (0 where it does not matter). Nothing for other
/// nodes, and for types or extents where device code might not agree with the interpreter for every value.
std::optional<PlainFunction> function_of(const GraphView& view, PlanNode node);

}  // namespace taso::cost
