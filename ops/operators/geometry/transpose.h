#pragma once

#include "ops/operators/elementwise/elementwise.h"

namespace taso::ops::op {

/// Reorders the axes: axis i of the result is axis permutation[i] of x.
struct Transpose {
  static constexpr std::string_view name = "transpose";
  static constexpr Traits traits{Trait::tame};
  static constexpr KernelRole role = KernelRole::transpose;
  static constexpr std::size_t min_inputs = 1, max_inputs = 1;
  std::vector<std::int64_t> permutation;

  template <class Self, class F>
  static void fields(Self& self, F&& field) {
    field("permutation", self.permutation);
  }
  bool operator==(const Transpose&) const = default;

  Shape infer(std::span<const Shape> in, Fit& fit) const;
  template <Scalar S>
  Tensor<S> evaluate(Tensors<S> in) const {
    Extents extents = extents_of(inferred(*this, shapes_of(in)));
    const auto own = strides_of(in[0].extents);
    std::vector<std::int64_t> strides;
    for (const std::int64_t axis : permutation) strides.push_back(own[static_cast<std::size_t>(axis)]);
    return read(in[0], std::move(extents), strides);
  }
  Work work(std::span<const Shape> in) const { return streaming_work(in, in, 0); }
};

}  // namespace taso::ops::op
