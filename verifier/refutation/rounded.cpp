#include "verifier/refutation/rounded.h"

#include <algorithm>
#include <optional>

#include "ops/graph/evaluate.h"

namespace taso::verifier {
namespace {

// The error of one operation, with room for a library function that is off by some units in the last place.
constexpr double unit = 0x1p-50;
// The error of results that are too small for full precision.
constexpr double tiny = 1e-300;

/// The result if an operand is undefined or unknown: undefined spreads.
std::optional<Rounded> lost(Rounded a, Rounded b) {
  if (a.is_undefined() || b.is_undefined()) return Rounded::undefined();
  if (!a.is_known() || !b.is_known()) return Rounded::unknown();
  return std::nullopt;
}

}  // namespace

Rounded Rounded::of(double value, double error) {
  if (!std::isfinite(value) || !std::isfinite(error)) return unknown();
  return {value, error + unit * std::abs(value) + tiny};
}

Rounded Rounded::sum(Rounded a, Rounded b, double value) {
  if (const auto nothing = lost(a, b)) return *nothing;
  if (std::isinf(a.value) || std::isinf(b.value)) return {value, 0};
  // Sums of integers are exact, and most are sums of integers.
  const double error = a.error + b.error;
  if (error == 0 && std::abs(value) < 0x1p52 && a.value == std::nearbyint(a.value) &&
      b.value == std::nearbyint(b.value))
    return {value, 0};
  return of(value, error);
}

Rounded operator*(Rounded a, Rounded b) {
  if (const auto nothing = lost(a, b)) return *nothing;
  const double value = a.value * b.value;
  if (std::isinf(a.value) || std::isinf(b.value)) return {value, 0};
  if ((a.value == 0 && a.error == 0) || (b.value == 0 && b.error == 0)) return {0, 0};
  if (a.error == 0 && b.error == 0) {
    if (std::abs(value) < 0x1p52 && a.value == std::nearbyint(a.value) && b.value == std::nearbyint(b.value))
      return {value, 0};
  }
  return Rounded::of(value, std::abs(a.value) * b.error + std::abs(b.value) * a.error + a.error * b.error);
}

bool differ(Rounded a, Rounded b) {
  if (!a.is_known() || !b.is_known()) return false;
  if (std::isinf(a.value) || std::isinf(b.value)) return a.value != b.value;
  const double size = std::max(std::abs(a.value), std::abs(b.value));
  return std::abs(a.value - b.value) > 1e-6 * size + 2 * (a.error + b.error);
}

bool is_worse(Rounded a, Rounded b) { return differ(a, b) || (a.is_known() && b.is_undefined()); }

Rounded RoundedMath::divide(Rounded a, Rounded b) {
  if (b.value == 0 && b.error == 0) return Rounded::undefined();
  if (const auto nothing = lost(a, b)) return *nothing;
  if (std::isinf(b.value) || std::abs(b.value) <= b.error) return Rounded::unknown();
  const double value = a.value / b.value;
  if (std::isinf(a.value)) return {value, 0};
  if (a.error == 0 && b.error == 0 && std::fmod(a.value, b.value) == 0 && std::abs(value) < 0x1p52) return {value, 0};
  return Rounded::of(value, (a.error + std::abs(value) * b.error) / (std::abs(b.value) - b.error));
}

Rounded RoundedMath::maximum(Rounded a, Rounded b) {
  if (const auto nothing = lost(a, b)) return *nothing;
  return {std::max(a.value, b.value), std::max(a.error, b.error)};
}

Rounded RoundedMath::minimum(Rounded a, Rounded b) {
  if (const auto nothing = lost(a, b)) return *nothing;
  return {std::min(a.value, b.value), std::max(a.error, b.error)};
}

Rounded RoundedMath::exp(Rounded a) {
  if (!a.is_known()) return a;
  const double value = std::exp(a.value);
  if (std::isinf(a.value)) return {value, 0};
  return Rounded::of(value, value * std::expm1(a.error));
}

Rounded RoundedMath::erf(Rounded a) {
  if (!a.is_known()) return a;
  return Rounded::of(std::erf(a.value), 1.13 * a.error);  // its slope is at most 2/sqrt(pi)
}

Rounded RoundedMath::tanh(Rounded a) {
  if (!a.is_known()) return a;
  return Rounded::of(std::tanh(a.value), a.error);
}

Rounded RoundedMath::sqrt(Rounded a) {
  if (!a.is_known()) return a;
  if (a.value + a.error < 0) return Rounded::undefined();
  if (a.value - a.error < 0) return Rounded::unknown();
  if (std::isinf(a.value) || (a.value == 0 && a.error == 0)) return a;
  const double value = std::sqrt(a.value);
  return Rounded::of(value, a.error / (value + std::sqrt(a.value - a.error)));
}

Rounded RoundedMath::pow(Rounded a, Rounded b) {
  if (const auto nothing = lost(a, b)) return *nothing;
  if (std::isinf(a.value) || std::isinf(b.value)) return Rounded::unknown();
  const bool is_whole = b.error == 0 && b.value == std::nearbyint(b.value);
  if (a.value == 0 && a.error == 0 && b.value + b.error < 0) return Rounded::undefined();
  if (a.value + a.error < 0 && b.error == 0 && !is_whole) return Rounded::undefined();
  if (a.value == 0 && a.error == 0 && b.value - b.error > 0) return {0, 0};
  const double value = std::pow(a.value, b.value);
  // Integer powers of exact numbers, of any sign.
  if (a.error == 0 && is_whole) return Rounded::of(value, 0);
  const double least = a.value - a.error;
  if (!(least > 0)) return Rounded::unknown();
  const double logarithm = std::abs(std::log(a.value));
  const double exponent_error =
      (std::abs(b.value) + b.error) * (a.error / least + unit * logarithm) + b.error * (logarithm + unit);
  return Rounded::of(value, value * std::expm1(exponent_error));
}

}  // namespace taso::verifier

namespace taso::ops {

template std::vector<Tensor<verifier::Rounded>> evaluate(const Operator&, Tensors<verifier::Rounded>);

}  // namespace taso::ops
