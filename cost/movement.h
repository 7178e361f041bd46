// Where moving data costs nothing: the result is a view of the same bytes, or whoever computes it writes it, or whoever
// needs it reads it, in the right place.
#pragma once

#include <optional>
#include <vector>

#include "cost/graph_view.h"
#include "cost/role.h"

namespace taso {

struct Use {
  PlanNode node = no_plan_node;
  std::size_t operand = 0;
};
/// The only use of a value, if there is just one and it is no output of the graph.
std::optional<Use> only_use(const GraphView& view, PlanValue value);

/// The only node that uses a value, in whichever operands; `no_plan_node` if there are several, or it is an output.
PlanNode only_user(const GraphView& view, PlanValue value);

/// Null-safe: opaque nodes, inputs and constants have none.
std::optional<Role> role_of(const GraphView& view, PlanNode node);

/// Whether all dimensions before the axis are 1: parts along it are contiguous.
bool is_outermost(const Extents& extents, std::int64_t axis);

/// Reshapes; splits and slices along the outermost axis that is not 1; transposes that move axes of 1 only.
bool is_view(const GraphView& view, PlanNode node);

/// A transpose that every user of it absorbs: all are matmuls, which read matrices either way round at any distance.
bool is_read_transposed(const GraphView& view, PlanNode transpose);
/// Whether a matmul can write its result so that it lies as this transpose of it wants it. Says nothing about whether there
/// is a matmul.
bool can_write_transposed(const GraphView& view, PlanNode transpose);

/// Whether an operand of a concat is computed where the concat wants it: the axis is outermost, something computes the
/// operand, no other concat claims it, and it is no output by itself. Others may read it there.
bool is_in_place(const GraphView& view, PlanNode concat, std::size_t operand);

/// The concat or split that does this one's work too: the last of concats, or the first of splits, of one another along one
/// axis.
PlanNode root_of_concats(const GraphView& view, PlanNode concat);
PlanNode root_of_splits(const GraphView& view, PlanNode split);
/// The root and all others whose work it does.
std::vector<PlanNode> concats_below(const GraphView& view, PlanNode root);
std::vector<PlanNode> splits_below(const GraphView& view, PlanNode root);

}  // namespace taso
