// Checks of operands that every host function needs: axes in range, lists of integers, sizes that can be allocated. A
// failed check is a mistake in the model, and throws an InputError that names the operator.
#pragma once

#include <fmt/format.h>

#include "runtime/host/host.h"

namespace taso::runtime {

/// The most elements that a result may have; a model that needs more is considered broken.
inline constexpr std::int64_t most_elements = std::int64_t{1} << 40;

[[noreturn]] void refuse(const HostCall& call, std::string_view why);
/// Calls `refuse` unless the condition holds.
inline void require(const HostCall& call, bool holds, std::string_view why) {
  if (!holds) [[unlikely]]
    refuse(call, why);
}

inline std::size_t unsign(std::int64_t value) { return static_cast<std::size_t>(value); }
inline std::int64_t sign(std::size_t value) { return static_cast<std::int64_t>(value); }

/// An axis of a tensor of `rank`; a negative one counts from the back.
std::size_t axis_in(const HostCall& call, std::int64_t axis, std::size_t rank);
/// The same for a list of distinct axes.
std::vector<std::size_t> axes_in(const HostCall& call, const std::vector<std::int64_t>& axes, std::size_t rank);
/// An index below `extent`; a negative one counts from the back.
std::int64_t index_in(const HostCall& call, std::int64_t index, std::int64_t extent);

/// A new array, after checking its size.
Array make_array(const HostCall& call, ElementType type, Extents extents);
Array make_zeros(const HostCall& call, ElementType type, Extents extents);

/// a * b and a + b for sizes: refused if the result does not fit into 64 bits.
std::int64_t times(const HostCall& call, std::int64_t a, std::int64_t b);
std::int64_t plus(const HostCall& call, std::int64_t a, std::int64_t b);

/// The elements of an integer operand of rank 0 or 1.
std::vector<std::int64_t> integers_of(const HostCall& call, std::size_t operand);
/// The same for any rank.
std::vector<std::int64_t> indices_of(const HostCall& call, std::size_t operand);
/// The single integer in an operand.
std::int64_t integer_of(const HostCall& call, std::size_t operand);
/// The single number in an operand.
double number_of(const HostCall& call, std::size_t operand);
/// The integers of an attribute, or of the operand that replaced it in a later opset.
std::vector<std::int64_t> integers_of(const HostCall& call, std::string_view attribute, std::size_t operand);

void require_type(const HostCall& call, std::size_t operand, ElementType type);
void require_rank(const HostCall& call, std::size_t operand, std::size_t rank);
void require_floating(const HostCall& call, std::size_t operand);

/// The element type for ONNX's number.
ElementType type_coded(const HostCall& call, std::int64_t code);
/// The element type in which a function computes: float for the half types, otherwise the type itself.
ElementType computing_type(ElementType type);
/// The elements, of any numeric type, as T.
template <class T>
std::vector<T> values_as(const Array& array) {
  const Array converted = array.cast(element_type_of<T>);
  const auto values = converted.values<T>();
  return {values.begin(), values.end()};
}
/// Calls `visit` with a float or a double, the type to compute a floating-point operand in. Refuses other types.
template <class Visit>
decltype(auto) with_floating(const HostCall& call, std::size_t operand, Visit&& visit) {
  require_floating(call, operand);
  if (call.input(operand).type() == ElementType::float64) return visit(double{});
  return visit(float{});
}
/// The product of extents, which must not be negative; refused beyond most_elements.
std::int64_t product(const HostCall& call, const Extents& extents, std::size_t begin, std::size_t end);

}  // namespace taso::runtime
