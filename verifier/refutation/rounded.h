// A double with a bound on its rounding error: two of them that lie further apart than their bounds are different
// reals.
#pragma once

#include <cmath>
#include <limits>

#include "ops/core/scalar.h"

namespace taso::verifier {

/// The real lies within `error` of `value`. An infinite value is exact: it is what the maximum of nothing is. What lost
/// its value by overflow, or may have none for all that is known, is unknown: neither equal to anything nor different.
/// What surely has none (a division by zero, the root of a negative number), or was computed from such, is undefined.
struct Rounded {
  double value = 0;
  double error = 0;

  static Rounded unknown() { return {std::numeric_limits<double>::quiet_NaN(), 0}; }
  static Rounded undefined() { return {std::numeric_limits<double>::quiet_NaN(), 1}; }
  bool is_known() const { return !std::isnan(value); }
  bool is_undefined() const { return std::isnan(value) && error == 1; }

  friend Rounded operator+(Rounded a, Rounded b) { return sum(a, b, a.value + b.value); }
  friend Rounded operator-(Rounded a, Rounded b) { return sum(a, b, a.value - b.value); }
  friend Rounded operator*(Rounded a, Rounded b);

  /// The same with the rounding of its own operation added; unknown if something finite grew too large.
  static Rounded of(double value, double error);

 private:
  static Rounded sum(Rounded a, Rounded b, double value);
};

/// Surely different, and by more than a millionth of their size.
bool differ(Rounded a, Rounded b);
/// Whether `b` may not stand where `a` did: they differ, or `a` has a value and `b` has none.
bool is_worse(Rounded a, Rounded b);

struct RoundedMath {
  static Rounded constant(double value) { return {value, 0}; }
  static Rounded divide(Rounded a, Rounded b);
  static Rounded maximum(Rounded a, Rounded b);
  static Rounded minimum(Rounded a, Rounded b);
  static Rounded lowest() { return {-std::numeric_limits<double>::infinity(), 0}; }
  static Rounded exp(Rounded a);
  static Rounded erf(Rounded a);
  static Rounded tanh(Rounded a);
  static Rounded sqrt(Rounded a);
  static Rounded pow(Rounded a, Rounded b);
  static Rounded sqrt_two() { return sqrt({2, 0}); }
};

}  // namespace taso::verifier

namespace taso::ops {

template <>
struct Math<verifier::Rounded> : verifier::RoundedMath {};

}  // namespace taso::ops
