#pragma once

#include "ops/operators/elementwise/elementwise.h"

namespace taso::ops::op {

/// The part from `begin` to `end` along `axis`; `end` is excluded.
struct Slice {
  static constexpr std::string_view name = "slice";
  static constexpr Traits traits{Trait::tame};
  static constexpr KernelRole role = KernelRole::slice;
  static constexpr std::size_t min_inputs = 1, max_inputs = 1;
  std::int64_t axis = 0;
  Dim begin = 0;
  Dim end = 1;

  template <class Self, class F>
  static void fields(Self& self, F&& field) {
    field("axis", self.axis);
    field("begin", self.begin);
    field("end", self.end);
  }
  bool operator==(const Slice&) const = default;

  Shape infer(std::span<const Shape> in, Fit& fit) const;
  template <Scalar S>
  Tensor<S> evaluate(Tensors<S> in) const {
    Extents extents = extents_of(inferred(*this, shapes_of(in)));
    const auto strides = strides_of(in[0].extents);
    const std::int64_t offset = extents_of({begin})[0] * strides[static_cast<std::size_t>(axis)];
    return read(in[0], std::move(extents), strides, offset);
  }
  Work work(std::span<const Shape> in) const {
    const Shape out[] = {inferred(*this, in)};
    return {0, size_estimate(out[0]), size_estimate(out[0])};
  }
};

}  // namespace taso::ops::op
