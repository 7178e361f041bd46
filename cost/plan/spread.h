// Numbers to which rows were reduced, spread over these rows again: x * (1 / sqrt(mean(x * x) + e)), an RMS norm as
// exporters write it, or x - mean(x). One kernel does both, with each row in the hands of the threads that reduced it.
#pragma once

#include "cost/plan/graph_view.h"

namespace taso::cost {

/// The most elements of such a row: a single block of threads computes all of it.
inline constexpr std::int64_t longest_spread_row = 8192;

/// Whether an element-wise operator broadcasts this operand in a way in which the results of reductions are spread.
/// Depends on shapes only, and not on what computes the operand.
bool may_spread(const GraphView& view, PlanValue value, PlanNode user);

/// Whether it spreads the results of this reduction, of which the operand was computed element by element.
bool spreads(const GraphView& view, PlanNode reduction, PlanValue value, PlanNode user);

}  // namespace taso::cost
