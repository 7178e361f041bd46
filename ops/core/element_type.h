// The element types of tensors, and the two small floating-point formats that the language lacks.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "ops/core/namespace.h"

namespace taso::ops {

enum class ElementType : std::uint8_t {
  undefined,  ///< a type that we do not model (strings, 8-bit floats, sequences, …) or do not know
  float32,
  float64,
  float16,
  bfloat16,
  int8,
  int16,
  int32,
  int64,
  uint8,
  uint16,
  uint32,
  uint64,
  boolean,
};

std::string_view name_of(ElementType type);
std::optional<ElementType> element_type_named(std::string_view name);
/// Bytes of one element; 0 for `undefined`.
std::size_t size_of(ElementType type);
bool is_floating(ElementType type);
bool is_signed_integer(ElementType type);
bool is_unsigned_integer(ElementType type);
inline bool is_integer(ElementType type) { return is_signed_integer(type) || is_unsigned_integer(type); }

/// IEEE 754 binary16; arithmetic goes through float.
struct Float16 {
  std::uint16_t bits = 0;
  Float16() = default;
  explicit Float16(float value);
  explicit operator float() const;
  bool operator==(const Float16&) const = default;
};

/// The upper half of a binary32.
struct BFloat16 {
  std::uint16_t bits = 0;
  BFloat16() = default;
  explicit BFloat16(float value);
  explicit operator float() const { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }
  bool operator==(const BFloat16&) const = default;
};

/// The C++ type that stores an element: element_type_of<float> == ElementType::float32, and so on.
template <class T>
inline constexpr ElementType element_type_of = ElementType::undefined;
template <>
inline constexpr ElementType element_type_of<float> = ElementType::float32;
template <>
inline constexpr ElementType element_type_of<double> = ElementType::float64;
template <>
inline constexpr ElementType element_type_of<Float16> = ElementType::float16;
template <>
inline constexpr ElementType element_type_of<BFloat16> = ElementType::bfloat16;
template <>
inline constexpr ElementType element_type_of<std::int8_t> = ElementType::int8;
template <>
inline constexpr ElementType element_type_of<std::int16_t> = ElementType::int16;
template <>
inline constexpr ElementType element_type_of<std::int32_t> = ElementType::int32;
template <>
inline constexpr ElementType element_type_of<std::int64_t> = ElementType::int64;
template <>
inline constexpr ElementType element_type_of<std::uint8_t> = ElementType::uint8;
template <>
inline constexpr ElementType element_type_of<std::uint16_t> = ElementType::uint16;
template <>
inline constexpr ElementType element_type_of<std::uint32_t> = ElementType::uint32;
template <>
inline constexpr ElementType element_type_of<std::uint64_t> = ElementType::uint64;
template <>
inline constexpr ElementType element_type_of<bool> = ElementType::boolean;

/// Calls `visit` with a value-initialised element of the C++ type behind `type`.
template <class Visit>
decltype(auto) with_element_type(ElementType type, Visit&& visit) {
  switch (type) {
    case ElementType::float32: return visit(float{});
    case ElementType::float64: return visit(double{});
    case ElementType::float16: return visit(Float16{});
    case ElementType::bfloat16: return visit(BFloat16{});
    case ElementType::int8: return visit(std::int8_t{});
    case ElementType::int16: return visit(std::int16_t{});
    case ElementType::int32: return visit(std::int32_t{});
    case ElementType::int64: return visit(std::int64_t{});
    case ElementType::uint8: return visit(std::uint8_t{});
    case ElementType::uint16: return visit(std::uint16_t{});
    case ElementType::uint32: return visit(std::uint32_t{});
    case ElementType::uint64: return visit(std::uint64_t{});
    default: return visit(bool{});
  }
}

}  // namespace taso::ops
