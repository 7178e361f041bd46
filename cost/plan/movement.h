// Where moving data costs nothing: the result is a view of the same bytes, or whoever computes it writes it, or whoever
// needs it reads it, in the right place.
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
/// The only use of a value, if there is just one and it is no output of the graph and not cut off.
std::optional<Use> only_use(const GraphView& view, PlanValue value);

/// The only node that uses a value, in whichever operands; `no_plan_node` if there are several, or it is an output
/// or cut off.
PlanNode only_user(const GraphView& view, PlanValue value);

/// Null-safe: opaque nodes, inputs and constants have none.
std::optional<Role> role_of(const GraphView& view, PlanNode node);
/// The same, but operators that we do not model and do element by element have the role of those that we do.
std::optional<Role> role_of_kernel(const GraphView& view, PlanNode node);

/// How far apart, in elements, neighbours along each axis lie.
using Strides = std::vector<std::int64_t>;
/// Nothing between the elements.
Strides packed(const Extents& extents, Layout layout);
/// Whether a value that lies so has nothing between its elements. Along an axis of 1 there are no neighbours.
bool is_packed(const Extents& extents, const Strides& strides, Layout layout);
/// Whether a value that lies so has nothing between its elements, row by row. Along an axis of 1 there are no neighbours.
bool is_dense(const Extents& extents, const Strides& strides);

/// Whether the channels of a value lie side by side: where the plan has it so, what convolutions and pooling compute, and what
/// is computed from that element by element or moved as a whole.
bool is_image(const GraphView& view, PlanValue value);

/// How a value lies in memory as a view of what its producer, a reshape, transpose, split or slice, takes it from. Nothing if
/// it has to be copied, because somebody reads it who cannot do so where it lies, or if something else computes it.
///
/// Element-wise operators, reductions and other copies read rows wherever each begins. A matmul reads matrices either way
/// round at any distance. Convolutions and pooling read examples at any distance and, where channels lie side by side, a part
/// of them: begin, length and all of them are multiples of 4 then. Everybody else wants a value to be dense.
std::optional<Strides> seen(const GraphView& view, PlanValue value);
/// How a value lies: as a view, as a part of a concat, or densely, in its own layout.
Strides strides_in_memory(const GraphView& view, PlanValue value);
/// Whether a node can read a value that lies so.
bool reads(const GraphView& view, PlanNode node, PlanValue value, const Strides& strides);
/// Whether a value is needed in another layout too: a kernel makes a copy for those who cannot read it as it lies.
bool is_converted(const GraphView& view, PlanValue value);
/// How that copy lies.
Strides other_strides(const GraphView& view, PlanValue value);

/// Whether a node reads that copy, and not the value as it lies.
bool reads_copy(const GraphView& view, PlanNode node, PlanValue value);

/// Reshapes, transposes, splits and slices: what gives a view, if its readers allow.
bool only_moves(const GraphView& view, PlanNode node);
/// Whether a chain of views is cut at this value (cuts.h): the view that gives it copies.
bool ends_views(const GraphView& view, PlanValue value);
/// Whether nothing has to be done for a node that only moves: all of its results that somebody uses are seen.
bool is_view(const GraphView& view, PlanNode node);

/// Whether a matmul can write its result so that it lies as this transpose of it wants it. Says nothing about whether there
/// is a matmul.
bool can_write_transposed(const GraphView& view, PlanNode transpose);

/// Whether an operand of a concat is computed where the concat wants it: it lies densely there, or with nothing but its examples
/// apart, or is a part of channels that lie side by side, as above; something computes it, no other concat claims it, and it is
/// no output by itself. Others may read it there, if they can. The whole may itself lie in the place of another.
bool is_in_place(const GraphView& view, PlanNode concat, std::size_t operand);
/// The concat in whose place a value is computed; `no_plan_node` if there is none.
PlanNode concat_in_place(const GraphView& view, PlanValue value);

/// The concat or split that does this one's work too: the last of concats, or the first of splits, of one another along one
/// axis.
PlanNode root_of_concats(const GraphView& view, PlanNode concat);
PlanNode root_of_splits(const GraphView& view, PlanNode split);
/// The root and all others whose work it does.
std::vector<PlanNode> concats_below(const GraphView& view, PlanNode root);
std::vector<PlanNode> splits_below(const GraphView& view, PlanNode root);

}  // namespace taso::cost
