// Corrections of a value that is right almost everywhere. A chain of concats along one axis has slices of the value in
// their own places, and corrections between them:
//
//   concat(concat(top, slice[begin=1, end=55](m)), bottom)     the border of m is corrected
//
// Such a value is computed in the memory of the chain's result, where its slices already lie. The kernel of the chain
// copies only the corrections, over the value. They are not computed in place: there they would have to wait for the
// value, while beside it they can run concurrently.
#pragma once

#include <span>
#include <vector>

#include "cost/plan/graph_view.h"

namespace taso::cost {

/// The value that the chain of concats with this root corrects: it has the extents of the result, all of its users are
/// slices that lie in the chain where they lie in the value, and no other value gives more of the result;
/// `no_plan_value` if there is none. Depends on operators and sizes only, not on places in memory.
PlanValue corrected_value(const GraphView& view, PlanNode root);
/// The root of the chain that corrects a value; `no_plan_node` if there is none.
PlanNode corrector(const GraphView& view, PlanValue value);
/// Whether corrections may be written over parts of a value, itself or as a part of another value. Depends on operators
/// and sizes only.
bool is_overwritten(const GraphView& view, PlanValue value);
/// Whether some slice of a value, perhaps in another shape, is an operand of a concat along its axis: after changes
/// elsewhere in the graph the value may be a corrected one.
bool may_be_corrected(const GraphView& view, PlanValue value);
/// Whether a value is such a slice.
bool may_be_kept(const GraphView& view, PlanValue value);
/// Whether a node reshapes a row-major value that has no other use, so that both are the same bytes if a kernel
/// computes that value.
bool is_plain_reshape(const GraphView& view, PlanNode node);

/// The value that a kernel computes in the memory of the result of this chain: the corrected value, or that from which
/// it is reshaped. `no_plan_value` if there is none, or if its kernel cannot write there.
PlanValue covered_value(const GraphView& view, PlanNode root);
/// The root of the chain in the memory of whose result this value is computed; `no_plan_node` if there is none.
PlanNode cover_of(const GraphView& view, PlanValue value);
/// Whether a value is a slice of a corrected value that already lies in place in the result.
bool is_kept(const GraphView& view, PlanValue value);

/// A part of an operand that the kernel of concats copies into their result.
struct CopiedPart {
  PlanNode concat = no_plan_node;  ///< whose operand it is
  PlanValue value = no_plan_value;
  Extents from, to;  ///< where it begins in the operand and in the result
  Extents extents;
};
/// Everything that a kernel copies: the operands of its concats (sorted) that do not lie in place. Of concats whose
/// result is corrected by others in the same kernel, only what these keep. No two parts overlap.
std::vector<CopiedPart> copied_parts(const GraphView& view, PlanNode root, std::span<const PlanNode> concats);

}  // namespace taso::cost
