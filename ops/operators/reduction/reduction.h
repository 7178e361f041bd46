// Shared by the reductions: some axes collapse into one element, which is kept as a dimension of 1 or dropped.
#pragma once

#include "ops/operators/elementwise/elementwise.h"

namespace taso::ops::op {

/// The shape after reducing `axes`, which are distinct and in any order. With `keep` they stay as dimensions of 1.
Shape infer_reduction(Fit& fit, const Shape& x, const std::vector<std::int64_t>& axes, bool keep);
/// The product of the dimensions along the axes.
Dim reduced_count(const Shape& x, const std::vector<std::int64_t>& axes);
/// Throws if there are no elements to reduce: nothing has no maximum and no mean.
void need_elements(Fit& fit, const Shape& x, const std::vector<std::int64_t>& axes);

/// Combines all elements that differ only along `axes`, in row-major order. The axes stay as dimensions of 1. Without
/// elements the result is 0.
template <class S, class Combine>
Tensor<S> fold(const Tensor<S>& x, const std::vector<std::int64_t>& axes, Combine&& combine) {
  Extents extents = x.extents;
  for (const std::int64_t axis : axes) extents[static_cast<std::size_t>(axis)] = 1;
  Tensor<S> result(extents, Math<S>::constant(0));
  std::vector<bool> started(result.data.size(), false);
  const auto strides = broadcast_strides(extents, x.extents);
  std::int64_t position = 0;
  for_each_index(x.extents, [&](const Extents& index) {
    const std::int64_t target = flat_index(index, strides);
    const S& value = x[position++];
    result[target] = started[static_cast<std::size_t>(target)] ? combine(std::as_const(result[target]), value) : value;
    started[static_cast<std::size_t>(target)] = true;
  });
  return result;
}

template <class S>
Tensor<S> sum_along(const Tensor<S>& x, const std::vector<std::int64_t>& axes) {
  return fold(x, axes, [](const S& a, const S& b) { return S(a + b); });
}

template <class S>
Tensor<S> max_along(const Tensor<S>& x, const std::vector<std::int64_t>& axes) {
  return fold(x, axes, [](const S& a, const S& b) { return Math<S>::maximum(a, b); });
}

template <class S>
Tensor<S> mean_along(const Tensor<S>& x, const std::vector<std::int64_t>& axes) {
  const auto elements = static_cast<double>(reduced_count(shape_of(x.extents), axes).value());
  return map_elements(sum_along(x, axes),
                      [&](const S& sum) { return Math<S>::divide(sum, Math<S>::constant(elements)); });
}

/// The work of one operation per reduced element.
Work reduction_work(std::span<const Shape> in, const Shape& out, const std::vector<std::int64_t>& axes);

}  // namespace taso::ops::op
