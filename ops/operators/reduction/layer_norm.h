#pragma once

#include <cmath>
#include <numeric>

#include "ops/operators/reduction/reduction.h"

namespace taso::ops::op {

/// Normalises x to mean 0 and variance 1 over the axes from `axis` on, then multiplies by the second operand and adds
/// the third, if there is one. Both broadcast to x.
struct LayerNorm {
  static constexpr std::string_view name = "layer_norm";
  static constexpr Traits traits{Trait::sums};
  static constexpr KernelRole role = KernelRole::rows;
  static constexpr std::size_t min_inputs = 2, max_inputs = 3;
  static constexpr double flops = 8;
  std::int64_t axis = 0;
  double epsilon = 1e-5;

  template <class Self, class F>
  static void fields(Self& self, F&& field) {
    field("axis", self.axis);
    field("epsilon", self.epsilon);
  }
  bool operator==(const LayerNorm&) const = default;

  /// A mean of squares is not negative.
  bool is_partial() const { return !(epsilon > 0); }
  Shape infer(std::span<const Shape> in, Fit& fit) const;
  Work work(std::span<const Shape> in) const { return streaming_work(in, in.first(1), flops); }

  template <Scalar S>
  Tensor<S> evaluate(Tensors<S> in) const {
    inferred(*this, shapes_of(in));
    std::vector<std::int64_t> axes(in[0].rank() - static_cast<std::size_t>(axis));
    std::iota(axes.begin(), axes.end(), axis);
    const auto minus = [](const S& a, const S& b) { return S(a - b); };
    const auto plus = [](const S& a, const S& b) { return S(a + b); };
    const auto times = [](const S& a, const S& b) { return S(a * b); };

    const Tensor<S> centred = zip_elements(in[0], mean_along(in[0], axes), minus);
    const Tensor<S> variance = mean_along(zip_elements(centred, centred, times), axes);
    const Tensor<S> deviation =
        map_elements(variance, [this](const S& v) { return Math<S>::sqrt(v + Math<S>::constant(epsilon)); });
    Tensor<S> result = zip_elements(zip_elements(centred, deviation, Math<S>::divide), in[1], times);
    if (in.size() == 3) result = zip_elements(result, in[2], plus);
    return result;
  }
};

}  // namespace taso::ops::op
