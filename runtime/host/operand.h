// What every host function asks of its operands before it touches them: axes in range, lists of integers, sizes that
// can be allocated. Whatever does not hold is the model's mistake and an InputError that names the operator.
#pragma once

#include <fmt/format.h>

#include "runtime/host/host.h"

namespace taso::runtime {

/// The most elements that a result may have; a model that asks for more is taken for broken.
inline constexpr std::int64_t most_elements = std::int64_t{1} << 40;

[[noreturn]] void refuse(const HostCall& call, std::string_view why);
/// `refuse` unless the condition holds.
inline void require(const HostCall& call, bool holds, std::string_view why) {
  if (!holds) [[unlikely]]
    refuse(call, why);
}

inline std::size_t unsign(std::int64_t value) { return static_cast<std::size_t>(value); }
inline std::int64_t sign(std::size_t value) { return static_cast<std::int64_t>(value); }

/// An axis of a tensor of `rank`, where a negative one counts from the back.
std::size_t axis_in(const HostCall& call, std::int64_t axis, std::size_t rank);
/// The same for a list in which no axis may stand twice.
std::vector<std::size_t> axes_in(const HostCall& call, const std::vector<std::int64_t>& axes, std::size_t rank);
/// An index below `extent`, where a negative one counts from the back.
std::int64_t index_in(const HostCall& call, std::int64_t index, std::int64_t extent);

/// A new array, after its size has been looked at.
Array make_array(const HostCall& call, ElementType type, Extents extents);
Array make_zeros(const HostCall& call, ElementType type, Extents extents);

/// a * b, a + b for sizes: refused when the result is no 64-bit number.
std::int64_t times(const HostCall& call, std::int64_t a, std::int64_t b);
std::int64_t plus(const HostCall& call, std::int64_t a, std::int64_t b);

/// The elements of an operand of rank 0 or 1 that holds integers.
std::vector<std::int64_t> integers_of(const HostCall& call, std::size_t operand);
/// The same, of any rank.
std::vector<std::int64_t> indices_of(const HostCall& call, std::size_t operand);
/// The one integer in an operand.
std::int64_t integer_of(const HostCall& call, std::size_t operand);
/// The one number in an operand.
double number_of(const HostCall& call, std::size_t operand);
/// An attribute, or the operand that took its place in a later opset.
std::vector<std::int64_t> integers_of(const HostCall& call, std::string_view attribute, std::size_t operand);

void require_type(const HostCall& call, std::size_t operand, ElementType type);
void require_rank(const HostCall& call, std::size_t operand, std::size_t rank);
void require_floating(const HostCall& call, std::size_t operand);

/// The element type behind ONNX's number for it.
ElementType type_coded(const HostCall& call, std::int64_t code);
/// The element type in which a function computes: float for the half types, otherwise the type itself.
ElementType computing_type(ElementType type);
/// The elements as T, of any numeric type.
template <class T>
std::vector<T> values_as(const Array& array) {
  const Array converted = array.cast(element_type_of<T>);
  const auto values = converted.values<T>();
  return {values.begin(), values.end()};
}
/// Calls `visit` with a float or a double: what to compute in for a floating operand. Other types are refused.
template <class Visit>
decltype(auto) with_floating(const HostCall& call, std::size_t operand, Visit&& visit) {
  require_floating(call, operand);
  if (call.input(operand).type() == ElementType::float64) return visit(double{});
  return visit(float{});
}
/// Extents that may not be negative, multiplied; refused beyond most_elements.
std::int64_t product(const HostCall& call, const Extents& extents, std::size_t begin, std::size_t end);

}  // namespace taso::runtime
