#include "ops/core/element_type.h"

#include <array>
#include <cmath>

namespace taso::ops {
namespace {

struct Row {
  ElementType type;
  std::string_view name;
  std::size_t size;
};

constexpr std::array<Row, 14> rows{{
    {ElementType::undefined, "undefined", 0},
    {ElementType::float32, "float32", 4},
    {ElementType::float64, "float64", 8},
    {ElementType::float16, "float16", 2},
    {ElementType::bfloat16, "bfloat16", 2},
    {ElementType::int8, "int8", 1},
    {ElementType::int16, "int16", 2},
    {ElementType::int32, "int32", 4},
    {ElementType::int64, "int64", 8},
    {ElementType::uint8, "uint8", 1},
    {ElementType::uint16, "uint16", 2},
    {ElementType::uint32, "uint32", 4},
    {ElementType::uint64, "uint64", 8},
    {ElementType::boolean, "bool", 1},
}};

const Row& row_of(ElementType type) { return rows[static_cast<std::size_t>(type)]; }

}  // namespace

std::string_view name_of(ElementType type) { return row_of(type).name; }

std::optional<ElementType> element_type_named(std::string_view name) {
  for (const Row& row : rows)
    if (row.name == name) return row.type;
  return std::nullopt;
}

std::size_t size_of(ElementType type) { return row_of(type).size; }

bool is_floating(ElementType type) { return type >= ElementType::float32 && type <= ElementType::bfloat16; }
bool is_signed_integer(ElementType type) { return type >= ElementType::int8 && type <= ElementType::int64; }
bool is_unsigned_integer(ElementType type) { return type >= ElementType::uint8 && type <= ElementType::uint64; }

Float16::Float16(float value) {
  const auto word = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((word >> 16) & 0x8000u);
  const std::uint32_t magnitude = word & 0x7fffffffu;
  if (magnitude >= 0x7f800000u) {  // infinity, or a NaN, which becomes quiet
    bits = static_cast<std::uint16_t>(sign | 0x7c00u | (magnitude > 0x7f800000u ? 0x0200u : 0u));
  } else if (magnitude >= 0x477ff000u) {  // rounds beyond the largest finite value
    bits = static_cast<std::uint16_t>(sign | 0x7c00u);
  } else if (magnitude >= 0x38800000u) {  // normal
    const std::uint32_t rounded = magnitude + 0x0fffu + ((magnitude >> 13) & 1u);
    bits = static_cast<std::uint16_t>(sign | ((rounded - 0x38000000u) >> 13));
  } else {  // subnormal: a multiple of 2^-24, to nearest even
    const float scaled = std::bit_cast<float>(magnitude) * 16777216.0F;
    bits = static_cast<std::uint16_t>(sign | static_cast<std::uint16_t>(std::nearbyint(scaled)));
  }
}

Float16::operator float() const {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
  const std::uint32_t exponent = (bits >> 10) & 0x1fu;
  const std::uint32_t fraction = bits & 0x3ffu;
  if (exponent == 0) {
    const float value = static_cast<float>(fraction) / 16777216.0F;
    return sign ? -value : value;
  }
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | (fraction << 13));
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (fraction << 13));
}

BFloat16::BFloat16(float value) {
  auto word = std::bit_cast<std::uint32_t>(value);
  if (value != value)
    word |= 0x00400000u;  // keep a NaN a NaN when its payload lies in the lower half
  else
    word += 0x7fffu + ((word >> 16) & 1u);
  bits = static_cast<std::uint16_t>(word >> 16);
}

}  // namespace taso::ops
