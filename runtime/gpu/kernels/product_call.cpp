#include "runtime/gpu/kernels/product_call.h"

#include <algorithm>

namespace taso::gpu::kernels {
namespace {

constexpr std::int64_t most_elements = std::int64_t{1} << 30;

std::int64_t span(const cost::Call::Operand& operand) {
  std::int64_t last = 0;
  for (std::size_t i = 0; i < operand.extents.size(); ++i) last += (operand.extents[i] - 1) * operand.strides[i];
  return last + 1;
}

}  // namespace

bool is_plain_product(const cost::Call& call, const Values& values) {
  using enum ElementType;
  if (call.main != 0 || call.written.size() != 1 || call.results.size() != 1) return false;
  const cost::Call::Step& main = call.steps.at(0);
  if (main.operands[0] >= call.read.size() || main.operands[1] >= call.read.size()) return false;
  const ElementType element = call.read[main.operands[0]].element;
  if (element != float32 && element != float16 && element != bfloat16) return false;
  for (const auto* list : {&call.read, &call.written})
    for (const cost::Call::Operand& one : *list) {
      if (one.element != element || ops::count(one.extents) == 0) return false;
      if (std::any_of(one.strides.begin(), one.strides.end(), [](std::int64_t s) { return s < 0; })) return false;
      if (span(one) >= most_elements) return false;
    }
  const Extents& y = values.extents.at(main.first_result);
  for (std::size_t i = 1; i < call.steps.size(); ++i) {
    const bool is_last = i + 1 == call.steps.size();
    if (is_last && std::holds_alternative<op::Transpose>(call.steps[i].op)) continue;
    if (values.extents.at(call.steps[i].first_result) != y) return false;
  }
  return ops::count(y) < most_elements;
}

std::int64_t elements_in_chunk(const cost::Call::Operand& operand) {
  return 16 / static_cast<std::int64_t>(size_of(operand.element));
}

}  // namespace taso::gpu::kernels
