// The two small floating-point formats against their definition: nearest, ties to even.
#include "ops/core/element_type.h"

#include <cmath>
#include <limits>

#include "tests/catch.h"

namespace taso::test {
namespace {

/// The value of a binary16 by its definition.
double defined_value(unsigned bits) {
  const double sign = bits & 0x8000u ? -1 : 1;
  const int exponent = static_cast<int>(bits >> 10 & 31u);
  const double fraction = bits & 1023u;
  if (exponent == 31) return fraction == 0 ? sign * INFINITY : NAN;
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(1024 + fraction, exponent - 25);
}

Float16 half_of(unsigned bits) {
  Float16 half;
  half.bits = static_cast<std::uint16_t>(bits);
  return half;
}

BFloat16 brain_of(unsigned bits) {
  BFloat16 brain;
  brain.bits = static_cast<std::uint16_t>(bits);
  return brain;
}

template <class Half>
void rounds_to_nearest_even(Half (*make)(unsigned), unsigned largest) {
  bool good = true;
  for (unsigned bits = 0; bits < largest; ++bits) {
    const auto low = static_cast<float>(make(bits)), high = static_cast<float>(make(bits + 1));
    const float middle = low + (high - low) / 2;  // exact: one bit more than the format has
    const unsigned even = bits % 2 == 0 ? bits : bits + 1;
    good = good && Half(middle).bits == even;
    good = good && Half(std::nextafter(middle, low)).bits == bits;
    good = good && Half(std::nextafter(middle, high)).bits == bits + 1;
    good = good && Half(-middle).bits == (even | 0x8000u);
  }
  CHECK(good);
}

}  // namespace

TEST_CASE("every binary16 goes to float and back, and has its value") {
  for (unsigned bits = 0; bits < 65536; ++bits) {
    const Float16 half = half_of(bits);
    const auto value = static_cast<float>(half);
    const double expected = defined_value(bits);
    if (std::isnan(expected)) {
      REQUIRE(std::isnan(value));
      REQUIRE(std::isnan(static_cast<float>(Float16(value))));
    } else {
      REQUIRE(static_cast<double>(value) == expected);
      REQUIRE(std::signbit(value) == ((bits & 0x8000u) != 0));
      REQUIRE(Float16(value).bits == bits);
    }
  }
}

TEST_CASE("every bfloat16 goes to float and back") {
  for (unsigned bits = 0; bits < 65536; ++bits) {
    const auto value = static_cast<float>(brain_of(bits));
    if (std::isnan(value))
      REQUIRE(std::isnan(static_cast<float>(BFloat16(value))));
    else
      REQUIRE(BFloat16(value).bits == bits);
  }
}

TEST_CASE("rounding is to the nearest, ties to even") {
  rounds_to_nearest_even<Float16>(half_of, 0x7bff);
  rounds_to_nearest_even<BFloat16>(brain_of, 0x7f7f);
}

TEST_CASE("numbers that are too large become infinite, too small ones zero") {
  CHECK(Float16(65504.0F).bits == 0x7bff);
  CHECK(Float16(65519.996F).bits == 0x7bff);
  CHECK(Float16(65520.0F).bits == 0x7c00);
  CHECK(Float16(-1e30F).bits == 0xfc00);
  CHECK(Float16(0x1p-25F).bits == 0);
  CHECK(Float16(0x1.000002p-25F).bits == 1);
  CHECK(Float16(-0.0F).bits == 0x8000);
  CHECK(BFloat16(std::numeric_limits<float>::max()).bits == 0x7f80);
  CHECK(std::isnan(static_cast<float>(BFloat16(std::bit_cast<float>(0x7f800001u)))));
}

TEST_CASE("element types are known by their names") {
  for (unsigned i = 0; i <= static_cast<unsigned>(ElementType::boolean); ++i) {
    const auto type = static_cast<ElementType>(i);
    CAPTURE(name_of(type));
    CHECK(element_type_named(name_of(type)) == type);
    if (type == ElementType::undefined) {
      CHECK(size_of(type) == 0);
      continue;
    }
    with_element_type(type, [&](auto element) {
      CHECK(element_type_of<decltype(element)> == type);
      CHECK(size_of(type) == sizeof(element));
    });
    CHECK(is_floating(type) + is_signed_integer(type) + is_unsigned_integer(type) + (type == ElementType::boolean) ==
          1);
  }
  CHECK_FALSE(element_type_named("float8"));
}

}  // namespace taso::test
