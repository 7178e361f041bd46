#pragma once

#include "ops/operators/elementwise/elementwise.h"

namespace taso::ops::op {

/// The product of two matrices, or of stacks of matrices whose leading dimensions broadcast.
struct MatMul : NoFields {
  static constexpr std::string_view name = "matmul";
  static constexpr Traits traits{Trait::sums, Trait::tame};
  static constexpr KernelRole role = KernelRole::matmul;
  static constexpr std::size_t min_inputs = 2, max_inputs = 2;
  bool operator==(const MatMul&) const = default;

  Shape infer(std::span<const Shape> in, Fit& fit) const;
  Work work(std::span<const Shape> in) const;

  template <Scalar S>
  Tensor<S> evaluate(Tensors<S> in) const {
    const Extents extents = extents_of(inferred(*this, shapes_of(in)));
    const Tensor<S>&a = in[0], &b = in[1];
    const std::int64_t rows = a.extents[a.rank() - 2], inner = a.extents.back(), columns = b.extents.back();
    const auto stack_of = [](const Extents& e) { return Extents(e.begin(), e.end() - 2); };
    const Extents stack = stack_of(extents);
    const auto a_strides = broadcast_strides(stack_of(a.extents), stack);
    const auto b_strides = broadcast_strides(stack_of(b.extents), stack);

    Tensor<S> result(extents, Math<S>::constant(0));
    std::int64_t out = 0;
    for_each_index(stack, [&](const Extents& index) {
      const std::int64_t left = flat_index(index, a_strides) * rows * inner;
      const std::int64_t right = flat_index(index, b_strides) * inner * columns;
      for (std::int64_t i = 0; i < rows; ++i, out += columns)
        for (std::int64_t k = 0; k < inner; ++k) {
          const S& factor = a[left + i * inner + k];
          for (std::int64_t j = 0; j < columns; ++j)
            result[out + j] = result[out + j] + factor * b[right + k * columns + j];
        }
    });
    return result;
  }
};

}  // namespace taso::ops::op
