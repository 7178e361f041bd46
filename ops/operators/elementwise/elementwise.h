// Shared by the element-wise operators: they broadcast, and apply one function to each element.
#pragma once

#include "ops/core/tensor.h"
#include "ops/core/trait.h"
#include "ops/graph/work.h"
#include "ops/operators/fit.h"

namespace taso::ops::op {

/// f(x), where `op.apply` is f on one element.
template <Scalar S, class Op>
Tensor<S> apply_to_each(const Op& op, const Tensor<S>& x) {
  return map_elements(x, [&op](const S& element) { return op.template apply<S>(element); });
}

/// Base of element-wise operators f(x) without attributes; `Derived` provides `apply(x)` and `flops`. Operators with
/// attributes have no base, so that they can be written as op::Clip{.low = 0}.
template <class Derived>
struct Unary {
  static constexpr std::size_t min_inputs = 1, max_inputs = 1;
  Shape infer(std::span<const Shape> in, Fit&) const { return in[0]; }
  template <Scalar S>
  Tensor<S> evaluate(Tensors<S> in) const {
    return apply_to_each(static_cast<const Derived&>(*this), in[0]);
  }
  Work work(std::span<const Shape> in) const { return streaming_work(in, in, Derived::flops); }
  bool operator==(const Unary&) const = default;
};

/// Base of operators f(a, b) with broadcasting; `Derived` provides `apply(a, b)` and `flops`.
template <class Derived>
struct Binary {
  static constexpr std::size_t min_inputs = 2, max_inputs = 2;
  Shape infer(std::span<const Shape> in, Fit& fit) const { return fit.broadcast(in[0], in[1]); }
  template <Scalar S>
  Tensor<S> evaluate(Tensors<S> in) const {
    return zip_elements(in[0], in[1], [this](const S& a, const S& b) {
      return static_cast<const Derived*>(this)->template apply<S>(a, b);
    });
  }
  Work work(std::span<const Shape> in) const {
    const Shape out[] = {inferred(static_cast<const Derived&>(*this), in)};
    return streaming_work(in, out, Derived::flops);
  }
  bool operator==(const Binary&) const = default;
};

/// Base of operators without attributes.
struct NoFields {
  template <class Self, class F>
  static void fields(Self&, F&&) {}
  bool operator==(const NoFields&) const = default;
};

}  // namespace taso::ops::op
