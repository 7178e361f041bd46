#include "cost/pricing/shared_heads.h"

#include <algorithm>

namespace taso::cost {
namespace {

/// Strides along axes of extent 1 have no meaning: equal calls shall look equal.
void normalise(Call::Operand& operand) {
  if (is_dense(operand.extents, operand.strides))
    operand.strides = packed(operand.extents, Layout::channels_first);
  else
    for (std::size_t i = 0; i < operand.extents.size(); ++i)
      if (operand.extents[i] == 1) operand.strides[i] = 0;
}

void split(Call::Operand& operand, std::size_t from_end, std::int64_t each) {
  if (operand.extents.size() < from_end) return;
  const auto at = static_cast<std::ptrdiff_t>(operand.extents.size() - from_end);
  std::int64_t &extent = operand.extents[static_cast<std::size_t>(at)],
               &stride = operand.strides[static_cast<std::size_t>(at)];
  const bool is_one = extent == 1;
  const std::int64_t between = stride;
  if (!is_one) {
    extent /= each;
    stride *= each;
  }
  operand.extents.insert(operand.extents.begin() + at + 1, is_one ? 1 : each);
  operand.strides.insert(operand.strides.begin() + at + 1, between);
  normalise(operand);
}

/// Writes the result as it is before the transpose, with the strides that it has after it.
void drop_transpose(Call& call) {
  const auto* transpose = std::get_if<op::Transpose>(&call.steps.back().op);
  if (transpose == nullptr) return;
  const Call::Operand after = call.written[0];
  for (std::size_t i = 0; i < transpose->permutation.size(); ++i) {
    const auto from = static_cast<std::size_t>(transpose->permutation[i]);
    call.written[0].extents[from] = after.extents[i];
    call.written[0].strides[from] = after.strides[i];
  }
  call.results[0] = call.steps.back().operands[0];
  call.steps.pop_back();
}

}  // namespace

void read_in_place(Call::Operand& operand, const Repetition& repetition) {
  operand.extents.clear();
  operand.strides.clear();
  const auto add = [&](const AxisPart& part) {
    operand.extents.push_back(part.stride == 0 ? 1 : part.extent);
    operand.strides.push_back(part.stride);
  };
  for (const std::vector<AxisPart>& axis : repetition.axes) {
    if (axis.empty()) add({});
    std::for_each(axis.begin(), axis.end(), add);
  }
  normalise(operand);
}

void split_heads(Call& call, std::size_t rank, const SharedHeads& heads, const std::vector<bool>& is_cut) {
  drop_transpose(call);
  const std::size_t from_end = rank - heads.axis;
  for (std::size_t i = 0; i < call.read.size(); ++i)
    if (!is_cut[i]) split(call.read[i], from_end, heads.each);
  split(call.written[0], from_end, heads.each);
  for (Call::Step& step : call.steps)
    if (auto* softmax = std::get_if<op::Softmax>(&step.op)) ++softmax->axis;
}

}  // namespace taso::cost
