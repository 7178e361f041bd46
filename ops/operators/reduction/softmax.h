#pragma once

#include "ops/operators/reduction/reduction.h"

namespace taso::ops::op {

/// exp(x) divided by its sum along `axis`. The maximum is subtracted first, to avoid overflow.
struct Softmax {
  static constexpr std::string_view name = "softmax";
  static constexpr Traits traits{Trait::sums, Trait::tame};
  static constexpr KernelRole role = KernelRole::rows;
  static constexpr std::size_t min_inputs = 1, max_inputs = 1;
  static constexpr double flops = 14;
  std::int64_t axis = 0;

  template <class Self, class F>
  static void fields(Self& self, F&& field) {
    field("axis", self.axis);
  }
  bool operator==(const Softmax&) const = default;

  Shape infer(std::span<const Shape> in, Fit& fit) const {
    fit.axis(axis, in[0]);
    return in[0];
  }
  template <Scalar S>
  Tensor<S> evaluate(Tensors<S> in) const {
    inferred(*this, shapes_of(in));
    const Tensor<S> powers = zip_elements(in[0], max_along(in[0], {axis}),
                                          [](const S& x, const S& greatest) { return Math<S>::exp(x - greatest); });
    return zip_elements(powers, sum_along(powers, {axis}), Math<S>::divide);
  }
  Work work(std::span<const Shape> in) const { return streaming_work(in, in, flops); }
};

}  // namespace taso::ops::op
