#include "runtime/host/operand.h"

#include <algorithm>
#include <cstring>

namespace taso::runtime {

void refuse(const HostCall& call, std::string_view why) { throw InputError(fmt::format("{}: {}", call.op_type, why)); }

std::size_t axis_in(const HostCall& call, std::int64_t axis, std::size_t rank) {
  const std::int64_t count = sign(rank);
  if (axis < -count || axis >= count) refuse(call, fmt::format("axis {} is out of range for rank {}", axis, rank));
  return unsign(axis < 0 ? axis + count : axis);
}

std::vector<std::size_t> axes_in(const HostCall& call, const std::vector<std::int64_t>& axes, std::size_t rank) {
  std::vector<bool> seen(rank, false);
  std::vector<std::size_t> result;
  for (const std::int64_t axis : axes) {
    const std::size_t place = axis_in(call, axis, rank);
    if (seen[place]) refuse(call, fmt::format("axis {} is given twice", axis));
    seen[place] = true;
    result.push_back(place);
  }
  return result;
}

std::int64_t index_in(const HostCall& call, std::int64_t index, std::int64_t extent) {
  if (index < -extent || index >= extent) [[unlikely]]
    refuse(call, fmt::format("index {} is out of range for a dimension of {}", index, extent));
  return index < 0 ? index + extent : index;
}

std::int64_t times(const HostCall& call, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result)) refuse(call, "a size overflows");
  return result;
}

std::int64_t plus(const HostCall& call, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (__builtin_add_overflow(a, b, &result)) refuse(call, "a size overflows");
  return result;
}

std::int64_t product(const HostCall& call, const Extents& extents, std::size_t begin, std::size_t end) {
  std::int64_t result = 1;
  for (std::size_t i = begin; i < end; ++i) {
    if (extents[i] < 0) refuse(call, fmt::format("negative dimension in {}", text_of(extents)));
    result = times(call, result, extents[i]);
  }
  return result;
}

Array make_array(const HostCall& call, ElementType type, Extents extents) {
  require(call, size_of(type) > 0, "an operand is of a type that we do not model");
  std::int64_t size = 1;
  for (const std::int64_t extent : extents) {
    if (extent < 0) refuse(call, fmt::format("negative dimension in the result {}", text_of(extents)));
    if (extent == 0) continue;  // other dimensions must still not be so large that strides overflow
    if (size > most_elements / extent) refuse(call, fmt::format("a result of {} is too large", text_of(extents)));
    size *= extent;
  }
  return Array(type, std::move(extents));
}

Array make_zeros(const HostCall& call, ElementType type, Extents extents) {
  Array result = make_array(call, type, std::move(extents));
  std::memset(result.mutable_data(), 0, result.bytes());
  return result;
}

std::vector<std::int64_t> indices_of(const HostCall& call, std::size_t operand) {
  const Array& array = call.input(operand);
  if (!is_integer(array.type())) refuse(call, fmt::format("operand {} must hold integers", operand));
  return array.integers();
}

std::vector<std::int64_t> integers_of(const HostCall& call, std::size_t operand) {
  const Array& array = call.input(operand);
  if (array.rank() > 1) refuse(call, fmt::format("operand {} must be of rank 0 or 1", operand));
  return indices_of(call, operand);
}

std::int64_t integer_of(const HostCall& call, std::size_t operand) {
  if (call.input(operand).size() != 1) refuse(call, fmt::format("operand {} must be one number", operand));
  return indices_of(call, operand)[0];
}

double number_of(const HostCall& call, std::size_t operand) {
  if (call.input(operand).size() != 1) refuse(call, fmt::format("operand {} must be one number", operand));
  return call.input(operand).doubles()[0];
}

std::vector<std::int64_t> integers_of(const HostCall& call, std::string_view attribute, std::size_t operand) {
  if (call.has(operand)) return integers_of(call, operand);
  return call.attributes.integers(attribute);
}

void require_type(const HostCall& call, std::size_t operand, ElementType type) {
  if (call.input(operand).type() != type)
    refuse(call, fmt::format("operand {} is of type {} where {} is needed", operand,
                             name_of(call.input(operand).type()), name_of(type)));
}

void require_rank(const HostCall& call, std::size_t operand, std::size_t rank) {
  if (call.input(operand).rank() != rank)
    refuse(call, fmt::format("operand {} is of rank {} where {} is needed", operand, call.input(operand).rank(), rank));
}

void require_floating(const HostCall& call, std::size_t operand) {
  if (!is_floating(call.input(operand).type()))
    refuse(call, fmt::format("operand {} is of type {} where a floating-point type is needed", operand,
                             name_of(call.input(operand).type())));
}

ElementType type_coded(const HostCall& call, std::int64_t code) {
  using enum ElementType;
  constexpr ElementType types[] = {undefined, float32, uint8,     int8,      uint16,  int16,
                                   int32,     int64,   undefined, boolean,   float16, float64,
                                   uint32,    uint64,  undefined, undefined, bfloat16};
  if (code < 0 || code >= std::ssize(types) || types[code] == undefined)
    refuse(call, fmt::format("element type {} is not one that we model", code));
  return types[code];
}

ElementType computing_type(ElementType type) {
  return type == ElementType::float16 || type == ElementType::bfloat16 ? ElementType::float32 : type;
}

}  // namespace taso::runtime
