#pragma once

#include "ops/operators/elementwise/elementwise.h"

namespace taso::ops::op {

/// Joins two tensors along `axis`.
struct Concat {
  static constexpr std::string_view name = "concat";
  static constexpr Traits traits{Trait::tame};
  static constexpr KernelRole role = KernelRole::concat;
  static constexpr std::size_t min_inputs = 2, max_inputs = 2;
  std::int64_t axis = 0;

  template <class Self, class F>
  static void fields(Self& self, F&& field) {
    field("axis", self.axis);
  }
  bool operator==(const Concat&) const = default;

  Shape infer(std::span<const Shape> in, Fit& fit) const;
  template <Scalar S>
  Tensor<S> evaluate(Tensors<S> in) const {
    Extents extents = extents_of(inferred(*this, shapes_of(in)));
    // For each index before `axis`, the result holds one contiguous run of each operand.
    const auto run = [&](const Tensor<S>& part) {
      return count(Extents(part.extents.begin() + axis, part.extents.end()));
    };
    const std::int64_t runs = count(Extents(extents.begin(), extents.begin() + axis));
    std::vector<S> data;
    data.reserve(static_cast<std::size_t>(count(extents)));
    for (std::int64_t i = 0; i < runs; ++i)
      for (const Tensor<S>& part : in)
        data.insert(data.end(), part.data.begin() + i * run(part), part.data.begin() + (i + 1) * run(part));
    return Tensor<S>(std::move(extents), std::move(data));
  }
  Work work(std::span<const Shape> in) const {
    const Shape out[] = {inferred(*this, in)};
    return streaming_work(in, out, 0);
  }
};

}  // namespace taso::ops::op
