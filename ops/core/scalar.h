// What an operator's definition requires of a number type. Each operator is defined once, over any type S with a
// Math<S>: float and double (the reference), wrapped integers, a prime field (fingerprints), Z3 expressions (small
// proofs).
#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <numbers>
#include <type_traits>

#include "ops/core/namespace.h"

namespace taso::ops {

/// The functions on S that operators use besides + - *. Specialised for every scalar type.
template <class S>
struct Math;

template <class S>
concept Scalar = requires(const S& a, const S& b) {
  { a + b } -> std::convertible_to<S>;
  { a - b } -> std::convertible_to<S>;
  { a* b } -> std::convertible_to<S>;
  { Math<S>::constant(1.5) } -> std::same_as<S>;
  { Math<S>::divide(a, b) } -> std::same_as<S>;
  { Math<S>::maximum(a, b) } -> std::same_as<S>;
  { Math<S>::minimum(a, b) } -> std::same_as<S>;
};

template <std::floating_point S>
struct Math<S> {
  /// Every constant in an operator is a double.
  static S constant(double value) { return static_cast<S>(value); }
  static S divide(S a, S b) { return a / b; }
  // If an operand is NaN, so is the result, as in numpy.
  static S maximum(S a, S b) { return a > b || std::isnan(a) ? a : b; }
  static S minimum(S a, S b) { return a < b || std::isnan(a) ? a : b; }
  static S lowest() { return -std::numeric_limits<S>::infinity(); }
  static S exp(S a) { return std::exp(a); }
  static S erf(S a) { return std::erf(a); }
  static S tanh(S a) { return std::tanh(a); }
  static S sqrt(S a) { return std::sqrt(a); }
  static S pow(S a, S b) { return std::pow(a, b); }
  static S sqrt_two() { return std::numbers::sqrt2_v<S>; }
};

/// A 64-bit integer that wraps around. Narrower types compute in it and are truncated, which gives the same bits.
template <class T>
requires(std::same_as<T, std::int64_t> || std::same_as<T, std::uint64_t>) struct Wrapped {
  T value = 0;
  Wrapped() = default;
  explicit Wrapped(T v) : value(v) {}
  friend Wrapped operator+(Wrapped a, Wrapped b) { return of(bits(a) + bits(b)); }
  friend Wrapped operator-(Wrapped a, Wrapped b) { return of(bits(a) - bits(b)); }
  friend Wrapped operator*(Wrapped a, Wrapped b) { return of(bits(a) * bits(b)); }
  bool operator==(const Wrapped&) const = default;

 private:
  static std::uint64_t bits(Wrapped a) { return static_cast<std::uint64_t>(a.value); }
  static Wrapped of(std::uint64_t bits) { return Wrapped(static_cast<T>(bits)); }
};

template <class T>
struct Math<Wrapped<T>> {
  using S = Wrapped<T>;
  static S constant(double value) {
    if (std::isnan(value)) return S(0);
    // Casting a double that the type cannot hold is undefined: saturate.
    if (value >= static_cast<double>(std::numeric_limits<T>::max())) return S(std::numeric_limits<T>::max());
    if (value <= static_cast<double>(std::numeric_limits<T>::min())) return S(std::numeric_limits<T>::min());
    return S(static_cast<T>(value));
  }
  /// Rounds towards zero, as in ONNX. Division by zero gives 0: ONNX leaves it undefined, and we do not trap.
  static S divide(S a, S b) {
    if (b.value == 0) return S(0);
    if constexpr (std::is_signed_v<T>)
      if (b.value == -1) return S() - a;
    return S(a.value / b.value);
  }
  static S maximum(S a, S b) { return a.value < b.value ? b : a; }
  static S minimum(S a, S b) { return b.value < a.value ? b : a; }
  static S lowest() { return S(std::numeric_limits<T>::min()); }
  static S exp(S a) { return constant(std::exp(static_cast<double>(a.value))); }
  static S erf(S a) { return constant(std::erf(static_cast<double>(a.value))); }
  static S tanh(S a) { return constant(std::tanh(static_cast<double>(a.value))); }
  static S sqrt(S a) { return constant(std::sqrt(static_cast<double>(a.value))); }
  static S pow(S a, S b) {
    if constexpr (std::is_signed_v<T>)
      if (b.value < 0) return constant(std::pow(static_cast<double>(a.value), static_cast<double>(b.value)));
    S power(1);
    for (auto n = static_cast<std::uint64_t>(b.value); n != 0; n >>= 1, a = a * a)
      if (n & 1) power = power * a;
    return power;
  }
  static S sqrt_two() { return constant(std::numbers::sqrt2); }
};

}  // namespace taso::ops
