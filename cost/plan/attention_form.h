// What attention looks like from one of its operators: a product, element-wise operators on its scores, their softmax,
// and a product with the result. fusion.h decides whether it is one kernel; until then, movement.h has to know whether
// a product may belong to one, because such a kernel reads more than a product does.
#pragma once

#include <optional>

#include "cost/plan/movement.h"

namespace taso::cost {

/// The most operators in a row, on the way from a product to the softmax of its rows, that count.
inline constexpr std::size_t furthest_product = 9;

bool is_softmax(const GraphView& view, PlanNode node);
/// Whether the node is a matmul; `no_plan_node` is none.
bool is_product(const GraphView& view, PlanNode node);

/// Whether kernels end where a plan is cut (cuts.h). How values lie does not depend on cuts, so that the kernels of a
/// graph can be chosen one by one.
enum class Cuts : std::uint8_t { respected, ignored };

/// Where(IsNaN(p), 0, p) after a softmax p. PyTorch exports it behind masks: a row whose scores are all -infinity has
/// no softmax, and counts as 0.
struct Guard {
  PlanNode test = no_plan_node, choice = no_plan_node;
};
/// The guard of a softmax, if its result has no other use. A plan for ONNX Runtime has none.
std::optional<Guard> guard_after(const GraphView& view, PlanNode softmax, Cuts cuts = Cuts::respected);
/// The softmax whose guard this node belongs to, or `no_plan_node`.
PlanNode softmax_guarded_by(const GraphView& view, PlanNode node, Cuts cuts = Cuts::respected);
/// The softmax that this node would guard if nothing else used its result, or `no_plan_node`.
PlanNode softmax_near_guard(const GraphView& view, PlanNode node);

/// The result of a softmax, or of its guard if it has one.
PlanValue shares_of(const GraphView& view, PlanNode softmax, Cuts cuts = Cuts::respected);
/// The softmax with these shares, if they have a single use; or `no_plan_node`.
PlanNode softmax_with(const GraphView& view, PlanValue shares, Cuts cuts = Cuts::respected);

/// The product of which this node multiplies a factor by a number; `no_plan_node` if it does something else, or if the
/// result has another use. Attention multiplies its scores instead: the same, but for rounding, as long as the number
/// is neither 0 nor so large or small that factors or scores overflow.
PlanNode product_scaled_by(const GraphView& view, PlanNode node, Cuts cuts = Cuts::respected);
/// The value that such a node multiplies.
PlanValue unscaled(const GraphView& view, PlanNode node);

/// Whether rows along an axis are dense, and begin at multiples of what a kernel moves at once.
bool has_aligned_rows(const Extents& extents, const Strides& strides, std::size_t along);
/// Whether a product reads this value as queries, keys or values of what may be attention, and these strides suit its
/// kernel: rows are dense and aligned, and batches have any strides.
bool reads_rows_of_batches(const GraphView& view, PlanNode product, PlanValue value, const Strides& strides);

}  // namespace taso::cost
