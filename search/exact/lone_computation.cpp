#include "search/exact/lone_computation.h"

#include <algorithm>

namespace taso::search {

using cost::PlanNode;
using cost::PlanValue;

LoneComputation::LoneComputation(const Store& store, ComputationId id, const cost::PlanOptions& options)
    : cost::GraphView(options.layout), store_(store), id_(id), computation_(store[id]), extents_(options.sizes) {
  for (const ValueId operand : computation_.operands)
    if (operand != no_value && std::find(inputs_.begin(), inputs_.end(), operand) == inputs_.end())
      inputs_.push_back(operand);
}

std::optional<cost::Kernel> LoneComputation::kernel() const {
  const cost::Fusion fusion(*this);
  return fusion.leader(main) == main ? std::optional(fusion.kernel(main)) : std::nullopt;
}

const Operator* LoneComputation::op(PlanNode node) const {
  return node == main && computation_.op != nullptr ? &computation_.op->op : nullptr;
}

const Opaque* LoneComputation::opaque(PlanNode node) const {
  return node == main && computation_.op == nullptr ? computation_.origin->as_opaque() : nullptr;
}

PlanValue LoneComputation::operand(PlanNode, std::size_t index) const {
  const ValueId operand = computation_.operands[index];
  if (operand == no_value) return cost::no_plan_value;
  const auto found = std::find(inputs_.begin(), inputs_.end(), operand);
  return PlanValue{
      static_cast<std::uint32_t>(computation_.results + static_cast<std::size_t>(found - inputs_.begin()))};
}

PlanValue LoneComputation::result(PlanNode node, std::size_t index) const {
  return PlanValue{static_cast<std::uint32_t>(node == main ? index : computation_.results + place(node) - 1)};
}

PlanNode LoneComputation::producer(PlanValue value) const {
  return is_result(value) ? main : PlanNode{static_cast<std::uint32_t>(1 + place(value) - computation_.results)};
}

bool LoneComputation::is_weight(PlanValue value) const { return !is_result(value) && store_.weight_only(id_of(value)); }

/// The contents of constants are not known here; they only make a price more exact.
std::optional<double> LoneComputation::number(PlanValue) const { return std::nullopt; }

const Type& LoneComputation::type(PlanValue value) const {
  return is_result(value) ? store_.result_type(id_, place(value)) : store_.type(id_of(value));
}

}  // namespace taso::search
