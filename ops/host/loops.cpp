#include "ops/host/loops.h"

#include <fmt/format.h>

namespace taso::host {

ElementType element_type_numbered(std::int64_t data_type) {
  switch (data_type) {
    case 1:
      return ElementType::float32;
    case 2:
      return ElementType::uint8;
    case 3:
      return ElementType::int8;
    case 4:
      return ElementType::uint16;
    case 5:
      return ElementType::int16;
    case 6:
      return ElementType::int32;
    case 7:
      return ElementType::int64;
    case 9:
      return ElementType::boolean;
    case 10:
      return ElementType::float16;
    case 11:
      return ElementType::float64;
    case 12:
      return ElementType::uint32;
    case 13:
      return ElementType::uint64;
    case 16:
      return ElementType::bfloat16;
    default:
      throw InputError(fmt::format("element type number {} is not supported", data_type));
  }
}

void refuse(const HostCall& call, std::string_view why) {
  throw InputError(fmt::format("{} {}", call.op_type, why));
}

void expect_same_type(const HostCall& call, std::size_t first, std::size_t last) {
  for (std::size_t i = first + 1; i < std::min(last, call.inputs.size()); ++i)
    if (call.has(i))
      expect(call.input(i).type() == call.input(first).type(), call, "takes operands of one element type");
}

std::size_t resolve_axis(const HostCall& call, std::int64_t axis, std::size_t rank) {
  const auto signed_rank = static_cast<std::int64_t>(rank);
  if (axis < -signed_rank || axis >= signed_rank)
    refuse(call, fmt::format("has axis {} on an operand of rank {}", axis, rank));
  return static_cast<std::size_t>(axis < 0 ? axis + signed_rank : axis);
}

std::vector<std::int64_t> integer_operands(const HostCall& call, std::size_t index) {
  const Array& operand = call.input(index);
  expect(is_integer(operand.type()), call, "takes an operand of integers");
  return operand.integers();
}

std::int64_t integer_operand(const HostCall& call, std::size_t index) {
  expect(call.input(index).size() == 1, call, "takes an operand of one element");
  return integer_operands(call, index).front();
}

Strides broadcast_strides(const Extents& operand, const Extents& result) {
  const Strides own = strides_of(operand);
  Strides strides(result.size(), 0);
  const std::size_t offset = result.size() - operand.size();
  for (std::size_t i = 0; i < operand.size(); ++i)
    if (operand[i] != 1) strides[offset + i] = own[i];
  return strides;
}

Extents broadcast_operands(const HostCall& call) {
  Extents extents = call.input(0).extents();
  for (std::size_t i = 1; i < call.inputs.size(); ++i) extents = broadcast(extents, call.input(i).extents());
  return extents;
}

void simplify_walk(Extents& extents, std::span<Strides*> strides) {
  std::size_t kept = 0;  // dimensions [0, kept) are the simplified ones
  for (std::size_t d = 0; d < extents.size(); ++d) {
    if (extents[d] == 1) continue;
    const bool joins = kept > 0 && std::all_of(strides.begin(), strides.end(), [&](const Strides* s) {
                         return (*s)[kept - 1] == (*s)[d] * extents[d];
                       });
    if (!joins) ++kept;
    extents[kept - 1] = joins ? extents[kept - 1] * extents[d] : extents[d];
    for (Strides* s : strides) (*s)[kept - 1] = (*s)[d];
  }
  extents.resize(kept);
  for (Strides* s : strides) s->resize(kept);
}

}  // namespace taso::host
