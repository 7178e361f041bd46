// Operators of the model's own that kernels of ours do element by element, in either layout.
#pragma once

#include <optional>

#include "cost/plan/graph_view.h"

namespace taso::cost {

/// What such a node does, with its axis counted from the front (0 where it does not matter). Nothing if the node is something
/// else, or works on types or extents for which device code does not know what the interpreter makes of every value.
std::optional<PlainFunction> function_of(const GraphView& view, PlanNode node);

}  // namespace taso::cost
