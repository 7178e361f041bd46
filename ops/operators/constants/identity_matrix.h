#pragma once

#include "ops/operators/elementwise/elementwise.h"

namespace taso::ops::op {

/// A square matrix with 1 on the diagonal and 0 elsewhere.
template <class Size>
struct IdentityMatrixOf {
  static constexpr std::string_view name = "identity_matrix";
  static constexpr Traits traits{Trait::tame};
  static constexpr KernelRole role = KernelRole::constant;
  static constexpr std::size_t min_inputs = 0, max_inputs = 0;
  Size size = 1;
  ElementType type = ElementType::float32;

  template <class Self, class F>
  static void fields(Self& self, F&& field) {
    field("size", self.size);
    field("type", self.type);
  }
  bool operator==(const IdentityMatrixOf&) const = default;

  Shape infer(std::span<const Shape>, Fit& fit) const {
    fit.constant(type);
    fit.number("size", size, 1, greatest_attribute);
    return {size, size};
  }
  template <Scalar S>
  Tensor<S> evaluate(Tensors<S> in) const {
    Tensor<S> result(extents_of(inferred(*this, shapes_of(in))), Math<S>::constant(0));
    for (std::int64_t i = 0; i < size; ++i) result[i * size + i] = Math<S>::constant(1);
    return result;
  }
  Work work(std::span<const Shape> in) const { return {0, 0, size_estimate(inferred(*this, in))}; }
};

using IdentityMatrix = IdentityMatrixOf<std::int64_t>;

}  // namespace taso::ops::op
