#include "cost/movement.h"

#include <algorithm>

namespace taso {
namespace {

template <class T>
const T& as(const GraphView& view, PlanNode node) {
  return std::get<T>(*view.op(node));
}

/// How far apart neighbours along each axis of the transpose's result lie in its operand.
std::vector<std::int64_t> strides_of_result(const GraphView& view, PlanNode transpose) {
  const auto own = strides_of(*view.extents(view.operand(transpose, 0)));
  std::vector<std::int64_t> strides;
  for (const std::int64_t axis : as<op::Transpose>(view, transpose).permutation)
    strides.push_back(own[static_cast<std::size_t>(axis)]);
  return strides;
}

/// Whether the leading axes, the last two left out, can be walked with one stride.
bool has_one_batch_stride(const Extents& extents, const std::vector<std::int64_t>& strides) {
  std::int64_t expected = 0;  // of the next axis outwards; 0: any
  for (std::size_t i = extents.size() - 2; i-- > 0;) {
    if (extents[i] == 1) continue;
    if (expected != 0 && strides[i] != expected) return false;
    expected = strides[i] * extents[i];
  }
  return true;
}

}  // namespace

PlanNode only_user(const GraphView& view, PlanValue value) {
  if (value == no_plan_value || view.users(value) != 1 || view.is_output(value)) return no_plan_node;
  return view.user(value, 0);
}

std::optional<Use> only_use(const GraphView& view, PlanValue value) {
  const PlanNode user = only_user(view, value);
  if (user == no_plan_node) return std::nullopt;
  std::optional<Use> use;
  for (std::size_t i = 0; i < view.operands(user); ++i) {
    if (view.operand(user, i) != value) continue;
    if (use) return std::nullopt;
    use = Use{user, i};
  }
  return use;
}

std::optional<Role> role_of(const GraphView& view, PlanNode node) {
  const Operator* op = view.op(node);
  return op ? std::optional(role_of(*op)) : std::nullopt;
}

bool is_outermost(const Extents& extents, std::int64_t axis) {
  return std::all_of(extents.begin(), extents.begin() + axis, [](std::int64_t extent) { return extent == 1; });
}

bool is_view(const GraphView& view, PlanNode node) {
  const std::optional<Role> role = role_of(view, node);
  if (role == Role::reshape) return true;
  if (role != Role::split && role != Role::slice && role != Role::transpose) return false;
  const Extents& extents = *view.extents(view.operand(node, 0));
  if (role == Role::split) return is_outermost(extents, as<op::Split>(view, node).axis);
  if (role == Role::slice) return is_outermost(extents, as<op::Slice>(view, node).axis);
  std::int64_t last = -1;
  for (const std::int64_t axis : as<op::Transpose>(view, node).permutation) {
    if (extents[static_cast<std::size_t>(axis)] == 1) continue;
    if (axis < last) return false;
    last = axis;
  }
  return true;
}

bool is_read_transposed(const GraphView& view, PlanNode transpose) {
  const PlanValue result = view.result(transpose, 0);
  if (view.is_output(result) || view.users(result) == 0) return false;
  const Extents& extents = *view.extents(result);
  if (extents.size() < 2) return false;
  const auto strides = strides_of_result(view, transpose);
  // One axis of the matrix must be contiguous, whichever.
  const std::size_t rank = extents.size();
  if (strides[rank - 1] != 1 && strides[rank - 2] != 1 && extents[rank - 1] != 1 && extents[rank - 2] != 1)
    return false;
  if (!has_one_batch_stride(extents, strides)) return false;
  for (std::size_t i = 0; i < view.users(result); ++i)
    if (role_of(view, view.user(result, i)) != Role::matmul) return false;
  return true;
}

bool can_write_transposed(const GraphView& view, PlanNode transpose) {
  const Extents& from = *view.extents(view.operand(transpose, 0));
  const Extents& to = *view.extents(view.result(transpose, 0));
  if (from.size() < 2) return false;
  const auto own = strides_of(to);
  std::vector<std::int64_t> strides(from.size());
  const auto& permutation = as<op::Transpose>(view, transpose).permutation;
  for (std::size_t i = 0; i < permutation.size(); ++i) strides[static_cast<std::size_t>(permutation[i])] = own[i];
  const std::size_t rank = from.size();
  return (strides[rank - 1] == 1 || from[rank - 1] == 1) && has_one_batch_stride(from, strides);
}

bool is_in_place(const GraphView& view, PlanNode concat, std::size_t operand) {
  const PlanValue value = view.operand(concat, operand);
  const PlanNode producer = view.producer(value);
  if (view.is_free(producer) || view.is_output(value) || view.op(producer) == nullptr || is_view(view, producer))
    return false;
  if (!is_outermost(*view.extents(value), as<op::Concat>(view, concat).axis)) return false;
  if (view.operand(concat, 0) == view.operand(concat, 1)) return false;
  std::size_t claims = 0;
  for (std::size_t i = 0; i < view.users(value); ++i)
    if (role_of(view, view.user(value, i)) == Role::concat) ++claims;
  return claims == 1;
}

PlanNode root_of_concats(const GraphView& view, PlanNode concat) {
  for (;;) {
    const std::optional<Use> use = only_use(view, view.result(concat, 0));
    if (!use || role_of(view, use->node) != Role::concat ||
        as<op::Concat>(view, use->node).axis != as<op::Concat>(view, concat).axis)
      return concat;
    concat = use->node;
  }
}

PlanNode root_of_splits(const GraphView& view, PlanNode split) {
  for (;;) {
    const PlanValue operand = view.operand(split, 0);
    const PlanNode producer = view.producer(operand);
    if (view.is_free(producer) || role_of(view, producer) != Role::split || !only_use(view, operand) ||
        as<op::Split>(view, producer).axis != as<op::Split>(view, split).axis)
      return split;
    split = producer;
  }
}

std::vector<PlanNode> concats_below(const GraphView& view, PlanNode root) {
  std::vector<PlanNode> nodes{root};
  for (std::size_t n = 0; n < nodes.size(); ++n)
    for (std::size_t i = 0; i < view.operands(nodes[n]); ++i) {
      const PlanValue operand = view.operand(nodes[n], i);
      const PlanNode producer = view.producer(operand);
      if (!view.is_free(producer) && role_of(view, producer) == Role::concat && only_use(view, operand) &&
          as<op::Concat>(view, producer).axis == as<op::Concat>(view, root).axis)
        nodes.push_back(producer);
    }
  return nodes;
}

std::vector<PlanNode> splits_below(const GraphView& view, PlanNode root) {
  std::vector<PlanNode> nodes{root};
  for (std::size_t n = 0; n < nodes.size(); ++n)
    for (std::size_t i = 0; i < view.results(nodes[n]); ++i) {
      const std::optional<Use> use = only_use(view, view.result(nodes[n], i));
      if (use && role_of(view, use->node) == Role::split &&
          as<op::Split>(view, use->node).axis == as<op::Split>(view, root).axis)
        nodes.push_back(use->node);
    }
  return nodes;
}

}  // namespace taso
