#pragma once

#include "ops/operators/elementwise/elementwise.h"

namespace taso::ops::op {

/// scale (x - mean) / sqrt(variance + epsilon) + bias for each channel. The operands are x [N, C, ...], then scale,
/// bias, mean and variance, each [C]. This is the inference form: mean and variance are given.
struct BatchNorm {
  static constexpr std::string_view name = "batch_norm";
  static constexpr Traits traits{Trait::partial, Trait::sums};
  static constexpr KernelRole role = KernelRole::element_wise;
  static constexpr std::size_t min_inputs = 5, max_inputs = 5;
  static constexpr double kernel_flops = 40;  ///< per element: a square root and a division
  double epsilon = 1e-5;

  template <class Self, class F>
  static void fields(Self& self, F&& field) {
    field("epsilon", self.epsilon);
  }
  bool operator==(const BatchNorm&) const = default;

  Shape infer(std::span<const Shape> in, Fit& fit) const;
  Work work(std::span<const Shape> in) const { return streaming_work(in, in.first(1), 4); }

  template <Scalar S>
  Tensor<S> evaluate(Tensors<S> in) const {
    inferred(*this, shapes_of(in));
    const Tensor<S>&scale = in[1], &bias = in[2], &mean = in[3], &variance = in[4];
    const Tensor<S> deviation =
        map_elements(variance, [this](const S& v) { return Math<S>::sqrt(v + Math<S>::constant(epsilon)); });
    Tensor<S> result = in[0];
    const std::int64_t channels = result.extents[1];
    const std::int64_t size = count(Extents(result.extents.begin() + 2, result.extents.end()));
    for (std::int64_t plane = 0; plane < result.extents[0] * channels; ++plane) {
      const std::int64_t c = plane % channels;
      for (std::int64_t i = plane * size; i < (plane + 1) * size; ++i)
        result[i] = Math<S>::divide(scale[c] * (result[i] - mean[c]), deviation[c]) + bias[c];
    }
    return result;
  }
};

}  // namespace taso::ops::op
