#pragma once

#include <cmath>
#include <limits>

#include "ops/operators/elementwise/elementwise.h"

namespace taso::ops::op {

/// min(max(x, low), high); an infinite bound has no effect.
struct Clip {
  static constexpr std::string_view name = "clip";
  static constexpr Traits traits{Trait::element_wise, Trait::rising, Trait::tame};
  static constexpr std::size_t min_inputs = 1, max_inputs = 1;
  static constexpr double flops = 2;
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();

  template <class Self, class F>
  static void fields(Self& self, F&& field) {
    field("low", self.low);
    field("high", self.high);
  }
  bool operator==(const Clip&) const = default;

  Shape infer(std::span<const Shape> in, Fit& fit) const {
    fit.need(low < std::numeric_limits<double>::infinity() && high > -std::numeric_limits<double>::infinity(),
             [] { return std::string("a bound is not a number or on the wrong side"); });
    return in[0];
  }
  template <Scalar S>
  S apply(const S& x) const {
    S result = x;
    if (std::isfinite(low)) result = Math<S>::maximum(result, Math<S>::constant(low));
    if (std::isfinite(high)) result = Math<S>::minimum(result, Math<S>::constant(high));
    return result;
  }
  template <Scalar S>
  Tensor<S> evaluate(Tensors<S> in) const {
    inferred(*this, shapes_of(in));
    return apply_to_each(*this, in[0]);
  }
  Work work(std::span<const Shape> in) const { return streaming_work(in, in, flops); }
};

}  // namespace taso::ops::op
