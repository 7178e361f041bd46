#pragma once

#include <cmath>

#include "ops/operators/elementwise/elementwise.h"

namespace taso::ops::op {

/// x where it is positive, alpha x elsewhere.
struct LeakyRelu {
  static constexpr std::string_view name = "leaky_relu";
  static constexpr Traits traits{Trait::element_wise, Trait::keeps_zero, Trait::tame};
  static constexpr std::size_t min_inputs = 1, max_inputs = 1;
  static constexpr double flops = 2;
  double alpha = 0.01;

  template <class Self, class F>
  static void fields(Self& self, F&& field) {
    field("alpha", self.alpha);
  }
  bool operator==(const LeakyRelu&) const = default;

  Shape infer(std::span<const Shape> in, Fit& fit) const {
    fit.need(std::isfinite(alpha), [] { return std::string("alpha is not a finite number"); });
    return in[0];
  }
  template <Scalar S>
  S apply(const S& x) const {
    const S zero = Math<S>::constant(0);
    return Math<S>::maximum(x, zero) + Math<S>::constant(alpha) * Math<S>::minimum(x, zero);
  }
  template <Scalar S>
  Tensor<S> evaluate(Tensors<S> in) const {
    inferred(*this, shapes_of(in));
    return apply_to_each(*this, in[0]);
  }
  Work work(std::span<const Shape> in) const { return streaming_work(in, in, flops); }
};

}  // namespace taso::ops::op
