// The prime field of 2^61 - 1: exact arithmetic in which two different polynomials almost never agree by chance.
// Functions that are not polynomials (exp, tanh, …) are keyed pseudo-random functions. Elements are ordered by their
// signed representatives, so that max and relu keep their laws.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "ops/core/scalar.h"

namespace taso::ops {

class Field {
 public:
  static constexpr std::uint64_t modulus = (std::uint64_t{1} << 61) - 1;

  constexpr Field() = default;
  constexpr explicit Field(std::int64_t value)
      : value_(value >= 0 ? reduce(static_cast<std::uint64_t>(value))
                          : (modulus - reduce(0 - static_cast<std::uint64_t>(value))) % modulus) {}
  static constexpr Field from_bits(std::uint64_t bits) {
    Field result;
    result.value_ = reduce(bits);
    return result;
  }

  constexpr std::uint64_t bits() const { return value_; }
  /// The representative between -(p-1)/2 and (p-1)/2.
  constexpr std::int64_t signed_value() const {
    return value_ > modulus / 2 ? -static_cast<std::int64_t>(modulus - value_) : static_cast<std::int64_t>(value_);
  }

  friend constexpr Field operator+(Field a, Field b) { return from_sum(a.value_ + b.value_); }
  friend constexpr Field operator-(Field a, Field b) { return from_sum(a.value_ + modulus - b.value_); }
  friend constexpr Field operator*(Field a, Field b) {
    __extension__ using Wide = unsigned __int128;
    const Wide product = static_cast<Wide>(a.value_) * b.value_;
    return from_sum((static_cast<std::uint64_t>(product) & modulus) + static_cast<std::uint64_t>(product >> 61));
  }
  constexpr bool operator==(const Field&) const = default;

  constexpr Field power(std::uint64_t exponent) const {
    Field result(1);
    Field square = *this;
    for (; exponent != 0; exponent >>= 1, square = square * square)
      if (exponent & 1) result = result * square;
    return result;
  }
  /// Zero has no inverse; it is mapped to itself.
  constexpr Field inverse() const { return power(modulus - 2); }

 private:
  static constexpr std::uint64_t reduce(std::uint64_t bits) {
    const std::uint64_t folded = (bits & modulus) + (bits >> 61);
    return folded >= modulus ? folded - modulus : folded;
  }
  static constexpr Field from_sum(std::uint64_t sum) {
    Field result;
    result.value_ = sum >= modulus ? sum - modulus : sum;
    return result;
  }
  std::uint64_t value_ = 0;
};

template <>
struct Math<Field> {
  /// Exact: a finite double is a whole number times a power of two, and both exist in the field.
  static Field constant(double value) {
    if (!std::isfinite(value)) return keyed(7, Field(std::isnan(value) ? 2 : value > 0 ? 1 : 0));
    int exponent = 0;
    const double fraction = std::frexp(value, &exponent);
    const auto mantissa = static_cast<std::int64_t>(std::ldexp(fraction, 53));
    const int shift = ((exponent - 53) % 61 + 61) % 61;  // the order of 2 is 61
    return Field(mantissa) * Field(std::int64_t{1} << shift);
  }
  static Field divide(Field a, Field b) { return a * b.inverse(); }
  static Field maximum(Field a, Field b) { return a.signed_value() < b.signed_value() ? b : a; }
  static Field minimum(Field a, Field b) { return b.signed_value() < a.signed_value() ? b : a; }
  static Field lowest() { return Field::from_bits(Field::modulus / 2 + 1); }
  static Field exp(Field a) { return keyed(1, a); }
  static Field erf(Field a) { return keyed(2, a); }
  static Field tanh(Field a) { return keyed(3, a); }
  static Field sqrt(Field a) { return keyed(4, a); }
  static Field pow(Field a, Field b) { return keyed(5, a + keyed(6, b)); }
  /// The square of 2^31 is 2^62, which equals 2.
  static Field sqrt_two() { return Field(std::int64_t{1} << 31); }

 private:
  static Field keyed(std::uint64_t key, Field a) {
    std::uint64_t x = a.bits() + key * 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return Field::from_bits((x ^ (x >> 31)) >> 3);
  }
};

}  // namespace taso::ops
