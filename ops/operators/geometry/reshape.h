#pragma once

#include "ops/operators/elementwise/elementwise.h"

namespace taso::ops::op {

/// The same elements, in the same order, under another shape.
struct Reshape {
  static constexpr std::string_view name = "reshape";
  static constexpr Traits traits{Trait::tame};
  static constexpr KernelRole role = KernelRole::reshape;
  static constexpr std::size_t min_inputs = 1, max_inputs = 1;
  std::vector<Dim> shape;

  template <class Self, class F>
  static void fields(Self& self, F&& field) {
    field("shape", self.shape);
  }
  bool operator==(const Reshape&) const = default;

  Shape infer(std::span<const Shape> in, Fit& fit) const;
  template <Scalar S>
  Tensor<S> evaluate(Tensors<S> in) const {
    return Tensor<S>(extents_of(inferred(*this, shapes_of(in))), in[0].data);
  }
  Work work(std::span<const Shape> in) const { return streaming_work(in, in, 0); }
};

}  // namespace taso::ops::op
