#pragma once

#include <array>

#include "ops/operators/elementwise.h"

namespace taso::op {

/// Cuts a tensor in two along `axis`; the first part is `at` long.
struct Split {
  static constexpr std::string_view name = "split";
  static constexpr std::size_t min_inputs = 1, max_inputs = 1, outputs = 2;
  std::int64_t axis = 0;
  Dim at = 1;

  template <class Self, class F>
  static void fields(Self& self, F&& field) {
    field("axis", self.axis);
    field("at", self.at);
  }
  bool operator==(const Split&) const = default;

  Shapes infer(std::span<const Shape> in) const;
  template <Scalar S>
  std::vector<Tensor<S>> evaluate(Tensors<S> in) const {
    const Tensor<S>& x = in[0];
    const Shapes shapes = infer(shapes_of(in));
    std::vector<Tensor<S>> parts;
    std::int64_t begin = 0;
    for (const Shape& shape : shapes) {
      const Extents extents = *static_extents(shape);
      const auto strides = strides_of(x.extents);
      std::vector<S> data;
      for_each_index(extents, [&](const Extents& index) {
        data.push_back(x[flat_index(index, strides) + begin * strides[static_cast<std::size_t>(axis)]]);
      });
      begin += extents[static_cast<std::size_t>(axis)];
      parts.emplace_back(extents, std::move(data));
    }
    return parts;
  }
  Work work(std::span<const Shape> in) const { return streaming_work(in, infer(in), 0); }
};

}  // namespace taso::op
