#pragma once

#include "ops/operators/elementwise/elementwise.h"

namespace taso::ops::op {

/// Pads a tensor with `value`: before[i] elements at the start of axis i, after[i] at its end.
template <class Size>
struct PadOf {
  static constexpr std::string_view name = "pad";
  static constexpr Traits traits{Trait::tame};
  static constexpr KernelRole role = KernelRole::copy;
  static constexpr std::size_t min_inputs = 1, max_inputs = 1;
  std::vector<Size> before, after;
  double value = 0;

  template <class Self, class F>
  static void fields(Self& self, F&& field) {
    field("before", self.before);
    field("after", self.after);
    field("value", self.value);
  }
  bool operator==(const PadOf&) const = default;

  Shape infer(std::span<const Shape> in, Fit& fit) const;
  template <Scalar S>
  Tensor<S> evaluate(Tensors<S> in) const {
    return place(in[0], extents_of(inferred(*this, shapes_of(in))), before, Math<S>::constant(value));
  }
  Work work(std::span<const Shape> in) const {
    const Shape out[] = {inferred(*this, in)};
    return streaming_work(in, out, 0);
  }
};

using Pad = PadOf<std::int64_t>;

}  // namespace taso::ops::op
