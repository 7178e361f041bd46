#include "cost/plan/spread.h"

#include "cost/plan/movement.h"

namespace taso::cost {

bool may_spread(const GraphView& view, PlanValue value, PlanNode user) {
  if (view.layout() == Layout::onnxruntime) return false;  // which has other kernels
  if (role_of(view, user) != Role::element_wise || std::holds_alternative<op::BatchNorm>(*view.op(user))) return false;
  const PlanValue result = view.result(user, 0);
  const Extents& rows = *view.extents(result);
  const Extents& numbers = *view.extents(value);
  if (rows == numbers || view.element(value) != view.element(result)) return false;
  const std::int64_t many = count(numbers);
  // Otherwise axes of the one would be others of the other.
  if (numbers.size() != rows.size() && many != 1) return false;
  return many > 0 && count(rows) / many <= longest_spread_row && !is_image(view, result);
}

bool spreads(const GraphView& view, PlanNode reduction, PlanValue value, PlanNode user) {
  return role_of(view, reduction) == Role::rows && may_spread(view, value, user) &&
         *view.extents(view.operand(reduction, 0)) == *view.extents(view.result(user, 0));
}

}  // namespace taso::cost
