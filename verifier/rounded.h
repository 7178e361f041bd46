// A double with a bound on its rounding error: two of them that lie further apart than their bounds are different reals.
#pragma once

#include <cmath>
#include <limits>

#include "ops/scalar.h"

namespace taso {

/// The real lies within `error` of `value`. An infinite value is exact: it is what the maximum of nothing is. What has no
/// value, or lost it by overflow, is undefined: neither equal to anything nor different.
struct Rounded {
  double value = 0;
  double error = 0;

  static Rounded undefined() { return {std::numeric_limits<double>::quiet_NaN(), 0}; }
  bool is_defined() const { return !std::isnan(value); }

  friend Rounded operator+(Rounded a, Rounded b) { return sum(a, b, a.value + b.value); }
  friend Rounded operator-(Rounded a, Rounded b) { return sum(a, b, a.value - b.value); }
  friend Rounded operator*(Rounded a, Rounded b);

  /// The same with the rounding of its own operation added; undefined if something finite grew too large.
  static Rounded of(double value, double error);

 private:
  static Rounded sum(Rounded a, Rounded b, double value);
};

/// Surely different, and by more than a millionth of their size.
bool differ(Rounded a, Rounded b);

template <>
struct Math<Rounded> {
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

}  // namespace taso
