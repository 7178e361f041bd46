#include "verifier/rounded.h"

#include <algorithm>

#include "ops/evaluate.h"

namespace taso {
namespace {

// Of one operation, with room for a library function that is off by some units in the last place.
constexpr double unit = 0x1p-50;
// What is lost when a result is too small for full precision.
constexpr double tiny = 1e-300;

}  // namespace

Rounded Rounded::of(double value, double error) {
  if (!std::isfinite(value) || !std::isfinite(error)) return undefined();
  return {value, error + unit * std::abs(value) + tiny};
}

Rounded Rounded::sum(Rounded a, Rounded b, double value) {
  if (std::isinf(a.value) || std::isinf(b.value)) return {value, 0};
  // Sums of integers are exact, and most are of integers.
  const double error = a.error + b.error;
  if (error == 0 && std::abs(value) < 0x1p52 && a.value == std::nearbyint(a.value) &&
      b.value == std::nearbyint(b.value))
    return {value, 0};
  return of(value, error);
}

Rounded operator*(Rounded a, Rounded b) {
  const double value = a.value * b.value;
  if (std::isinf(a.value) || std::isinf(b.value)) return {value, 0};
  if (a.error == 0 && b.error == 0) {
    if (a.value == 0 || b.value == 0) return a.is_defined() && b.is_defined() ? Rounded{0, 0} : Rounded::undefined();
    if (std::abs(value) < 0x1p52 && a.value == std::nearbyint(a.value) && b.value == std::nearbyint(b.value))
      return {value, 0};
  }
  return Rounded::of(value, std::abs(a.value) * b.error + std::abs(b.value) * a.error + a.error * b.error);
}

bool differ(Rounded a, Rounded b) {
  if (!a.is_defined() || !b.is_defined()) return false;
  if (std::isinf(a.value) || std::isinf(b.value)) return a.value != b.value;
  const double size = std::max(std::abs(a.value), std::abs(b.value));
  return std::abs(a.value - b.value) > 1e-6 * size + 2 * (a.error + b.error);
}

Rounded Math<Rounded>::divide(Rounded a, Rounded b) {
  if (!a.is_defined() || !b.is_defined() || std::isinf(b.value) || std::abs(b.value) <= b.error)
    return Rounded::undefined();
  const double value = a.value / b.value;
  if (std::isinf(a.value)) return {value, 0};
  if (a.error == 0 && b.error == 0 && std::fmod(a.value, b.value) == 0 && std::abs(value) < 0x1p52) return {value, 0};
  return Rounded::of(value, (a.error + std::abs(value) * b.error) / (std::abs(b.value) - b.error));
}

Rounded Math<Rounded>::maximum(Rounded a, Rounded b) {
  if (!a.is_defined() || !b.is_defined()) return Rounded::undefined();
  return {std::max(a.value, b.value), std::max(a.error, b.error)};
}

Rounded Math<Rounded>::minimum(Rounded a, Rounded b) {
  if (!a.is_defined() || !b.is_defined()) return Rounded::undefined();
  return {std::min(a.value, b.value), std::max(a.error, b.error)};
}

Rounded Math<Rounded>::exp(Rounded a) {
  const double value = std::exp(a.value);
  if (std::isinf(a.value)) return {value, 0};
  return Rounded::of(value, value * std::expm1(a.error));
}

Rounded Math<Rounded>::erf(Rounded a) {
  return Rounded::of(std::erf(a.value), 1.13 * a.error);  // its slope is 2/sqrt(pi) at most
}

Rounded Math<Rounded>::tanh(Rounded a) { return Rounded::of(std::tanh(a.value), a.error); }

Rounded Math<Rounded>::sqrt(Rounded a) {
  if (!a.is_defined() || a.value - a.error < 0) return Rounded::undefined();
  if (std::isinf(a.value) || (a.value == 0 && a.error == 0)) return a;
  const double value = std::sqrt(a.value);
  return Rounded::of(value, a.error / (value + std::sqrt(a.value - a.error)));
}

Rounded Math<Rounded>::pow(Rounded a, Rounded b) {
  if (!a.is_defined() || !b.is_defined() || std::isinf(a.value) || std::isinf(b.value)) return Rounded::undefined();
  const double value = std::pow(a.value, b.value);
  // Whole powers of exact numbers, whatever their sign.
  if (a.error == 0 && b.error == 0 && b.value == std::nearbyint(b.value) && (b.value >= 0 || a.value != 0))
    return Rounded::of(value, 0);
  const double least = a.value - a.error;
  if (!(least > 0)) return Rounded::undefined();
  const double logarithm = std::abs(std::log(a.value));
  const double exponent_error =
      (std::abs(b.value) + b.error) * (a.error / least + unit * logarithm) + b.error * (logarithm + unit);
  return Rounded::of(value, value * std::expm1(exponent_error));
}

template std::vector<Tensor<Rounded>> evaluate(const Operator&, Tensors<Rounded>);

}  // namespace taso
