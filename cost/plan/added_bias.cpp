#include "cost/plan/added_bias.h"

#include <algorithm>

#include "cost/plan/movement.h"

namespace taso::cost {
namespace {

/// Whether a vector has one element per channel: all its axes are 1 except the channel axis, and all axes of space
/// follow it.
bool is_one_for_each_channel(const Extents& vector, const Extents& result) {
  if (vector.size() > result.size() || vector.size() + 1 < result.size()) return false;
  for (std::size_t i = 0; i < vector.size(); ++i) {
    const std::size_t axis = result.size() - vector.size() + i;
    if (vector[i] != (axis == 1 ? result[1] : 1)) return false;
  }
  return true;
}

}  // namespace

std::optional<AddedBias> added_bias(const GraphView& view, const Kernel& kernel) {
  if (role_of(view, kernel.main) != Role::convolution || view.operands(kernel.main) != 2) return std::nullopt;
  const PlanValue result = view.result(kernel.main, 0);
  if (result == no_plan_value || view.is_output(result) || view.users(result) != 1) return std::nullopt;
  const PlanNode add = view.user(result, 0);
  if (std::find(kernel.nodes.begin(), kernel.nodes.end(), add) == kernel.nodes.end()) return std::nullopt;
  if (view.op(add) == nullptr || !std::holds_alternative<op::Add>(*view.op(add))) return std::nullopt;
  const PlanValue vector = view.operand(add, view.operand(add, 0) == result ? 1 : 0);
  if (vector == result || !view.is_weight(vector) || view.element(vector) != view.element(result)) return std::nullopt;
  const Extents *const own = view.extents(vector), *const all = view.extents(result);
  if (own == nullptr || all == nullptr || !is_one_for_each_channel(*own, *all)) return std::nullopt;
  for (const PlanNode node : kernel.nodes)
    for (std::size_t i = 0; i < view.operands(node); ++i)
      if (node != add && view.operand(node, i) == vector) return std::nullopt;
  return AddedBias{add, vector, (*all)[1]};
}

}  // namespace taso::cost
