#pragma once

#include "ops/operators/elementwise/elementwise.h"

namespace taso::ops::op {

/// Cuts a tensor in two along `axis`; the first part has length `at`.
struct Split {
  static constexpr std::string_view name = "split";
  static constexpr Traits traits{Trait::tame};
  static constexpr KernelRole role = KernelRole::split;
  static constexpr std::size_t min_inputs = 1, max_inputs = 1, outputs = 2;
  std::int64_t axis = 0;
  Dim at = 1;

  template <class Self, class F>
  static void fields(Self& self, F&& field) {
    field("axis", self.axis);
    field("at", self.at);
  }
  bool operator==(const Split&) const = default;

  Shapes infer(std::span<const Shape> in, Fit& fit) const;
  template <Scalar S>
  std::vector<Tensor<S>> evaluate(Tensors<S> in) const {
    const auto strides = strides_of(in[0].extents);
    std::vector<Tensor<S>> parts;
    std::int64_t offset = 0;
    for (const Shape& shape : inferred(*this, shapes_of(in))) {
      Extents extents = extents_of(shape);
      const std::int64_t length = extents[static_cast<std::size_t>(axis)];
      parts.push_back(read(in[0], std::move(extents), strides, offset));
      offset += length * strides[static_cast<std::size_t>(axis)];
    }
    return parts;
  }
  Work work(std::span<const Shape> in) const { return streaming_work(in, inferred(*this, in), 0); }
};

}  // namespace taso::ops::op
