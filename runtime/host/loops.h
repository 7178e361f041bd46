// Shared by all families: loops over operands that broadcast, dispatch on the element type, and checks of operands.
#pragma once

#include <algorithm>
#include <array>
#include <type_traits>

#include "runtime/host/operand.h"

namespace taso::runtime {

/// Throws InputError unless all present operands have the same element type.
void require_same_type(const HostCall& call, std::size_t first, std::size_t last);

inline bool is_half(ElementType type) { return type == ElementType::float16 || type == ElementType::bfloat16; }

/// The half types have no arithmetic of their own: widens such operands to float, calls `function`, and rounds its
/// float results back.
template <class Function>
std::vector<Array> through_float(const HostCall& call, Function function) {
  ElementType half = ElementType::undefined;
  for (const auto& input : call.inputs)
    if (input && is_half(input->type())) half = input->type();
  if (half == ElementType::undefined) return function(call);
  HostCall wide = call;
  for (auto& input : wide.inputs)
    if (input && is_half(input->type())) input = input->cast(ElementType::float32);
  std::vector<Array> results = function(wide);
  for (Array& result : results)
    if (result.type() == ElementType::float32) result = result.cast(half);
  return results;
}

/// Calls `visit` with an element of the type, if it is among those in the name; otherwise throws InputError.
template <class Visit>
decltype(auto) with_floating(const HostCall& call, ElementType type, Visit&& visit) {
  if (type == ElementType::float32) return visit(float{});
  if (type == ElementType::float64) return visit(double{});
  refuse(call, "takes floating-point operands");
}
template <class Visit>
decltype(auto) with_integer(const HostCall& call, ElementType type, Visit&& visit) {
  switch (type) {
    case ElementType::int8: return visit(std::int8_t{});
    case ElementType::int16: return visit(std::int16_t{});
    case ElementType::int32: return visit(std::int32_t{});
    case ElementType::int64: return visit(std::int64_t{});
    case ElementType::uint8: return visit(std::uint8_t{});
    case ElementType::uint16: return visit(std::uint16_t{});
    case ElementType::uint32: return visit(std::uint32_t{});
    case ElementType::uint64: return visit(std::uint64_t{});
    default: refuse(call, "takes integer operands");
  }
}
/// Integers, float and double.
template <class Visit>
decltype(auto) with_number(const HostCall& call, ElementType type, Visit&& visit) {
  if (type == ElementType::float32) return visit(float{});
  if (type == ElementType::float64) return visit(double{});
  return with_integer(call, type, visit);
}

// Wrapping arithmetic in two's complement, where C++ has undefined behaviour.
template <class T>
T wrapping_add(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  else
    return a + b;
}
template <class T>
T wrapping_subtract(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
  else
    return a - b;
}
template <class T>
T wrapping_multiply(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
  else
    return a * b;
}
/// The larger of the two; NaN if either is, like numpy's maximum.
template <class T>
T larger(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    return a > b || a != a ? a : b;
  else
    return a > b ? a : b;
}
template <class T>
T smaller(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    return a < b || a != a ? a : b;
  else
    return a < b ? a : b;
}

using Strides = std::vector<std::int64_t>;

/// The strides for reading an operand with these extents in the space of `result`; 0 where it is repeated.
Strides broadcast_strides(const Extents& operand, const Extents& result);
/// The common extents of all operands; throws InputError if there are none.
Extents broadcast_operands(const HostCall& call);

/// Drops dimensions of one element, and merges neighbours that are contiguous for all operands.
void simplify_walk(Extents& extents, std::span<Strides*> strides);

/// Visits all of `extents` in row-major order, one row at a time: row(offsets, steps, count), where the elements of
/// operand k are at offsets[k] + i * steps[k].
template <std::size_t N, class Row>
void for_each_row(Extents extents, std::array<Strides, N> strides, Row&& row) {
  if (std::find(extents.begin(), extents.end(), 0) != extents.end()) return;
  std::array<Strides*, N> all;
  for (std::size_t k = 0; k < N; ++k) all[k] = &strides[k];
  simplify_walk(extents, all);
  std::array<std::int64_t, N> offsets{}, steps{};
  if (extents.empty()) return row(offsets, steps, std::int64_t{1});
  const std::size_t last = extents.size() - 1;
  for (std::size_t k = 0; k < N; ++k) steps[k] = strides[k][last];
  Extents index(extents.size(), 0);
  while (true) {
    row(offsets, steps, extents[last]);
    std::size_t d = last;
    while (true) {
      if (d == 0) return;
      --d;
      for (std::size_t k = 0; k < N; ++k) offsets[k] += strides[k][d];
      if (++index[d] < extents[d]) break;
      for (std::size_t k = 0; k < N; ++k) offsets[k] -= strides[k][d] * extents[d];
      index[d] = 0;
    }
  }
}

/// One result element per element.
template <class Out, class In, class Function>
Array map(const Array& in, Function function) {
  Array result(element_type_of<Out>, in.extents());
  const auto from = in.values<In>();
  const auto to = result.mutable_values<Out>();
  for (std::size_t i = 0; i < from.size(); ++i) to[i] = function(from[i]);
  return result;
}

/// One result element per pair, with broadcasting. Rows without repetition, or with one repeated side, are simple
/// loops.
template <class Out, class A, class B, class Function>
Array zip(const Array& a, const Array& b, Function function) {
  Array result(element_type_of<Out>, broadcast(a.extents(), b.extents()));
  Out* const to = result.mutable_values<Out>().data();
  const A* const left = a.values<A>().data();
  const B* const right = b.values<B>().data();
  const Extents& extents = result.extents();
  for_each_row<3>(
      extents, {strides_of(extents), broadcast_strides(a.extents(), extents), broadcast_strides(b.extents(), extents)},
      [&](const auto& at, const auto& step, std::int64_t count) {
        Out* const out = to + at[0];
        const A* const x = left + at[1];
        const B* const y = right + at[2];
        if (step[1] == 1 && step[2] == 1)
          for (std::int64_t i = 0; i < count; ++i) out[i] = function(x[i], y[i]);
        else if (step[1] == 1 && step[2] == 0)
          for (std::int64_t i = 0; i < count; ++i) out[i] = function(x[i], *y);
        else if (step[1] == 0 && step[2] == 1)
          for (std::int64_t i = 0; i < count; ++i) out[i] = function(*x, y[i]);
        else
          for (std::int64_t i = 0; i < count; ++i) out[i] = function(x[i * step[1]], y[i * step[2]]);
      });
  return result;
}

/// An array as (outer, axis, inner): the axis has `length` elements at a distance of `inner`.
struct AxisView {
  std::int64_t outer = 1, length = 1, inner = 1;
  AxisView(const Extents& extents, std::size_t axis) {
    // Wraps only for arrays without elements, whose loops do nothing.
    for (std::size_t i = 0; i < extents.size(); ++i) {
      std::int64_t& part = i < axis ? outer : i == axis ? length : inner;
      part = static_cast<std::int64_t>(static_cast<std::uint64_t>(part) * static_cast<std::uint64_t>(extents[i]));
    }
  }
};

}  // namespace taso::runtime
