#include "onnx/check/tolerance.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

namespace taso::onnx {
namespace {

/// The scale of an element in the absolute part of a tolerance. Sums of large terms lose digits in proportion to the
/// terms, not to the sum, so the scale is the largest element of the tensor. But elements of another kind do not count:
/// a mask of -3.4e38 says nothing about the numbers beside it. Sizes far apart belong to different kinds, and the scale
/// of an element is the largest of its own kind.
class Scales {
 public:
  explicit Scales(std::span<const double> values) {
    std::vector<double> sizes;
    for (const double value : values)
      if (std::isfinite(value)) sizes.push_back(size_of(value));
    if (sizes.empty()) return;
    if (const double largest = *std::max_element(sizes.begin(), sizes.end()); largest < least_gap) {
      largest_.push_back(largest);
      return;
    }
    std::sort(sizes.begin(), sizes.end());
    for (std::size_t i = 0; i + 1 < sizes.size(); ++i) {
      const double gap = sizes[i + 1] / sizes[i];
      if (gap >= least_gap && std::log10(gap) * static_cast<double>(i + 1) >= least_evidence)
        largest_.push_back(sizes[i]);
    }
    largest_.push_back(sizes.back());
  }
  double of(double value) const {
    const auto found = std::lower_bound(largest_.begin(), largest_.end(), size_of(value));
    return found == largest_.end() ? 1 : *found;
  }

 private:
  static double size_of(double value) { return std::max(std::abs(value), 1.0); }
  /// The chance that numbers of one kind leave such a gap above the k smallest is about gap to the power of -k. So
  /// above three numbers a hundredfold gap counts, above a single number only a millionfold one.
  static constexpr double least_gap = 100, least_evidence = 6;
  std::vector<double> largest_;  // of each kind, ascending
};

enum class Kind { finite, infinite, minus_infinite, nan };

Kind kind_of(double value) {
  if (std::isnan(value)) return Kind::nan;
  if (std::isfinite(value)) return Kind::finite;
  return value > 0 ? Kind::infinite : Kind::minus_infinite;
}

}  // namespace

Tolerance Tolerance::of(ElementType type) {
  switch (type) {
    case ElementType::float64: return {1e-7, 1e-9};
    case ElementType::float32: return {1e-3, 1e-5};
    case ElementType::float16: return {1e-2, 1e-2};
    case ElementType::bfloat16: return {5e-2, 5e-2};
    default: return {0, 0};
  }
}

bool agrees(const Array& expected, const Array& actual, const Tolerance& tolerance, double& worst) {
  const auto fail = [&] { return worst = std::numeric_limits<double>::infinity(), false; };
  if (expected.type() != actual.type() || expected.extents() != actual.extents()) return fail();
  if (!is_floating(expected.type())) return identical(expected, actual) || fail();
  const auto left = expected.doubles(), right = actual.doubles();
  const Scales scales(left);
  bool good = true;
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (left[i] == right[i] || (std::isnan(left[i]) && std::isnan(right[i]))) continue;
    const double allowed = tolerance.atol * scales.of(left[i]) + tolerance.rtol * std::abs(left[i]);
    const double share = std::abs(left[i] - right[i]) / allowed;
    if (!(share <= 1)) good = false;
    worst = std::isnan(share) ? std::numeric_limits<double>::infinity() : std::max(worst, share);
  }
  return good;
}

double finite_share(const Array& array) {
  if (!is_floating(array.type())) return 1;
  const auto values = array.doubles();
  if (values.empty()) return 1;
  const auto finite = std::count_if(values.begin(), values.end(), [](double value) { return std::isfinite(value); });
  return static_cast<double>(finite) / static_cast<double>(values.size());
}

Kinds& Kinds::operator+=(const Kinds& more) {
  finite += more.finite;
  lost += more.lost;
  other += more.other;
  return *this;
}

Kinds compare_kinds(const Array& expected, const Array& actual) {
  Kinds kinds;
  if (!is_floating(expected.type()) || expected.type() != actual.type() || expected.extents() != actual.extents())
    return kinds;
  const auto left = expected.doubles(), right = actual.doubles();
  for (std::size_t i = 0; i < left.size(); ++i) {
    const Kind before = kind_of(left[i]), after = kind_of(right[i]);
    if (before == Kind::finite) ++kinds.finite;
    if (before == after) continue;
    ++(before == Kind::finite ? kinds.lost : kinds.other);
  }
  return kinds;
}

}  // namespace taso::onnx
