#pragma once

#include "ops/operators/elementwise/elementwise.h"

namespace taso::ops::op {

/// x Phi(x), where Phi is the normal distribution, or the usual tanh approximation of it.
struct Gelu {
  static constexpr std::string_view name = "gelu";
  static constexpr Traits traits{Trait::element_wise, Trait::keeps_zero, Trait::tame};
  static constexpr std::size_t min_inputs = 1, max_inputs = 1;
  static constexpr double flops = 16;
  bool tanh = false;

  template <class Self, class F>
  static void fields(Self& self, F&& field) {
    field("tanh", self.tanh);
  }
  bool operator==(const Gelu&) const = default;

  Shape infer(std::span<const Shape> in, Fit&) const { return in[0]; }
  template <Scalar S>
  S apply(const S& x) const {
    const S one = Math<S>::constant(1);
    const S half = Math<S>::divide(x, Math<S>::constant(2));
    if (tanh) {
      const S inner = x + Math<S>::constant(0.044715) * x * x * x;
      return half * (one + Math<S>::tanh(Math<S>::constant(0.7978845608028654) * inner));  // sqrt(2 / pi)
    }
    return half * (one + Math<S>::erf(Math<S>::divide(x, Math<S>::sqrt_two())));
  }
  template <Scalar S>
  Tensor<S> evaluate(Tensors<S> in) const {
    inferred(*this, shapes_of(in));
    return apply_to_each(*this, in[0]);
  }
  Work work(std::span<const Shape> in) const { return streaming_work(in, in, flops); }
};

}  // namespace taso::ops::op
