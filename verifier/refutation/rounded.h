// A double with a bound on its rounding error: two that are further apart than their bounds are different reals.
#pragma once

#include <cmath>
#include <limits>

#include "ops/core/scalar.h"

namespace taso::verifier {

/// A real within `error` of `value`. An infinite value is exact: it is the maximum of nothing. A number is unknown if
/// it overflowed or may be undefined; it is then neither equal to nor different from anything. It is undefined if it
/// surely is (a division by zero, the root of a negative number), or is computed from such a number.
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

  /// Adds the rounding error of the operation itself; unknown if a finite number grew too large.
  static Rounded of(double value, double error);

 private:
  static Rounded sum(Rounded a, Rounded b, double value);
};

/// Whether they are surely different, by more than a millionth of their size.
bool differ(Rounded a, Rounded b);
/// Whether `b` must not replace `a`: they differ, or `a` is defined and `b` is not.
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
