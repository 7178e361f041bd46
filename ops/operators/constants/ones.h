#pragma once

#include "ops/operators/elementwise/elementwise.h"

namespace taso::ops::op {

/// A tensor of ones.
struct Ones {
  static constexpr std::string_view name = "ones";
  static constexpr Traits traits{Trait::tame};
  static constexpr KernelRole role = KernelRole::constant;
  static constexpr std::size_t min_inputs = 0, max_inputs = 0;
  std::vector<Dim> shape;
  ElementType type = ElementType::float32;

  template <class Self, class F>
  static void fields(Self& self, F&& field) {
    field("shape", self.shape);
    field("type", self.type);
  }
  bool operator==(const Ones&) const = default;

  Shape infer(std::span<const Shape>, Fit& fit) const {
    fit.constant(type);
    for (const Dim& dim : shape)
      fit.dimension(dim, [&] { return "a dimension of " + text_of(shape) + " is negative"; });
    count(shape);  // throws on overflow
    return shape;
  }
  template <Scalar S>
  Tensor<S> evaluate(Tensors<S> in) const {
    return Tensor<S>(extents_of(inferred(*this, shapes_of(in))), Math<S>::constant(1));
  }
  Work work(std::span<const Shape> in) const { return {0, 0, size_estimate(inferred(*this, in))}; }
};

}  // namespace taso::ops::op
