// Decides where moving data is free: the result is a view of the same bytes, or its producer writes it, or its reader
// reads it, in the right place.
#pragma once

#include <optional>
#include <vector>

#include "cost/plan/graph_view.h"
#include "cost/plan/role.h"

namespace taso::cost {

struct Use {
  PlanNode node = no_plan_node;
  std::size_t operand = 0;
};
/// The only use of a value, if there is exactly one, and the value is neither an output of the graph nor cut.
std::optional<Use> only_use(const GraphView& view, PlanValue value);

/// The only node that uses a value, in any number of operands; `no_plan_node` if there are several, or if the value is
/// an output or cut.
PlanNode only_user(const GraphView& view, PlanValue value);

/// Nothing for opaque nodes, inputs and constants.
std::optional<Role> role_of(const GraphView& view, PlanNode node);
/// The same, but opaque operators that a kernel computes element by element are element_wise.
std::optional<Role> role_of_kernel(const GraphView& view, PlanNode node);

/// The distance, in elements, between neighbours along each axis.
using Strides = std::vector<std::int64_t>;
/// The strides of a value without gaps.
Strides packed(const Extents& extents, Layout layout);
/// Whether a value with these strides has no gaps in this layout. Strides along axes of extent 1 do not matter.
bool is_packed(const Extents& extents, const Strides& strides, Layout layout);
/// Whether a value with these strides has no gaps in row-major order. Strides along axes of extent 1 do not matter.
bool is_dense(const Extents& extents, const Strides& strides);

/// Whether the leading axes, without the last two, can be walked with one stride.
bool has_one_batch_stride(const Extents& extents, const Strides& strides);

/// Whether both layouts are the same for these extents.
bool is_layout_free(const Extents& extents);
/// Whether any kernel can write a value with these strides, unless it only moves data: it has gaps between examples at
/// most, or is a part of the channels in NHWC.
bool is_writable(const Extents& extents, const Strides& strides, Layout layout);

/// Whether a value is stored in NHWC. In a plan in NHWC these are the results of convolutions and pooling; those of
/// transposes that make NCHW of values with channels last, if these were computed, not only moved; and what is computed
/// from all these element by element or moved as a whole.
bool is_image(const GraphView& view, PlanValue value);
Layout layout_of(const GraphView& view, PlanValue value);

/// The strides of a value as a view of the operand of its producer (a reshape, transpose, split or slice). Nothing if
/// it has to be copied because a reader cannot read it in place, or if it has another producer.
///
/// Element-wise operators, reductions and other copies read rows that begin anywhere. A matmul reads matrices in either
/// orientation with any stride, and one stride between batches; attention reads batches with any strides
/// (attention_form.h). Convolutions and pooling read examples with any stride and, in NHWC, a part of the
/// channels, if its begin, its length and the number of all channels are multiples of 4. All other readers need a dense
/// value.
std::optional<Strides> seen(const GraphView& view, PlanValue value);
/// The strides of a value: as a view, as a part of a concat, or densely in its own layout.
Strides strides_in_memory(const GraphView& view, PlanValue value);
/// Whether a node can read a value with these strides.
bool reads(const GraphView& view, PlanNode node, PlanValue value, const Strides& strides);
/// Whether a value is also needed in the other layout. A kernel then makes a copy for those that cannot read it as it
/// is.
bool is_converted(const GraphView& view, PlanValue value);
/// The strides of that copy.
Strides other_strides(const GraphView& view, PlanValue value);

/// Whether a node reads that copy instead of the value itself.
bool reads_copy(const GraphView& view, PlanNode node, PlanValue value);

/// Whether a node is a reshape, transpose, split or slice: it gives a view if its readers allow that.
bool only_moves(const GraphView& view, PlanNode node);
/// Whether a chain of views is cut at this value (cuts.h): its producer copies.
bool ends_views(const GraphView& view, PlanValue value);
/// Whether a node that only moves data needs no kernel: all of its used results are views.
bool is_view(const GraphView& view, PlanNode node);

/// Whether a transpose leaves the last axis where it is.
bool keeps_rows(const GraphView& view, PlanNode transpose);
/// Whether a matmul could write its result directly in the order of this transpose. Does not check that the producer is
/// a matmul.
bool can_write_transposed(const GraphView& view, PlanNode transpose);

/// Whether an operand of a concat is computed directly in its place in the result. The place must be dense, or have
/// gaps between examples only, or be a part of the channels in NHWC as above; a kernel must compute the operand, no
/// other concat may claim it, and it may not be an output itself. Other nodes may read it there, if they can, and if no
/// correction is written over it. The result may itself lie in another concat's result. If the concat corrects a value
/// (cover.h), the slices of this value are in place, and nothing else is.
bool is_in_place(const GraphView& view, PlanNode concat, std::size_t operand);
/// The concat in whose result a value is computed; `no_plan_node` if there is none.
PlanNode concat_in_place(const GraphView& view, PlanValue value);

/// The concat along the same axis that is the only user of this concat's result: both become one.
PlanNode joined(const GraphView& view, PlanNode concat);
/// The concat or split whose kernel includes this one: the last in a chain of concats, or the first in a chain of
/// splits, along one axis.
PlanNode root_of_concats(const GraphView& view, PlanNode concat);
PlanNode root_of_splits(const GraphView& view, PlanNode split);
/// The root and all others that its kernel includes.
std::vector<PlanNode> concats_below(const GraphView& view, PlanNode root);
std::vector<PlanNode> splits_below(const GraphView& view, PlanNode root);

}  // namespace taso::cost
