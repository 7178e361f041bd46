#include "runtime/host/kernels/elementwise.h"

namespace taso::runtime::kernels {

BroadcastPlan plan_broadcast(const Extents& a, const Extents& b, const Extents& result) {
  const auto a_strides = ops::broadcast_strides(a, result), b_strides = ops::broadcast_strides(b, result);
  BroadcastPlan plan;
  for (std::size_t d = 0; d < result.size(); ++d) {
    if (result[d] == 1) continue;
    const auto joins = [&](const std::vector<std::int64_t>& steps, const std::vector<std::int64_t>& strides) {
      return steps.back() == strides[d] * result[d];
    };
    if (!plan.extents.empty() && joins(plan.a_steps, a_strides) && joins(plan.b_steps, b_strides)) {
      plan.extents.back() *= result[d];
      plan.a_steps.back() = a_strides[d];
      plan.b_steps.back() = b_strides[d];
    } else {
      plan.extents.push_back(result[d]);
      plan.a_steps.push_back(a_strides[d]);
      plan.b_steps.push_back(b_strides[d]);
    }
  }
  if (plan.extents.empty()) return {{1}, {0}, {0}};
  return plan;
}

}  // namespace taso::runtime::kernels
