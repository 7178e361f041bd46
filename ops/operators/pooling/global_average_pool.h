#pragma once

#include <numeric>

#include "ops/operators/reduction/reduction.h"

namespace taso::ops::op {

/// The mean of each channel of x [N, C, spatial...]; the spatial dimensions stay as 1.
struct GlobalAveragePool : NoFields {
  static constexpr std::string_view name = "global_average_pool";
  static constexpr Traits traits{Trait::sums, Trait::tame};
  static constexpr KernelRole role = KernelRole::rows;
  static constexpr std::size_t min_inputs = 1, max_inputs = 1;
  bool operator==(const GlobalAveragePool&) const = default;

  Shape infer(std::span<const Shape> in, Fit& fit) const {
    fit.rank(in[0], 3);
    need_elements(fit, in[0], spatial_axes(in[0].size()));
    return infer_reduction(fit, in[0], spatial_axes(in[0].size()), true);
  }
  template <Scalar S>
  Tensor<S> evaluate(Tensors<S> in) const {
    inferred(*this, shapes_of(in));
    return mean_along(in[0], spatial_axes(in[0].rank()));
  }
  Work work(std::span<const Shape> in) const {
    return reduction_work(in, inferred(*this, in), spatial_axes(in[0].size()));
  }

 private:
  static std::vector<std::int64_t> spatial_axes(std::size_t rank) {
    std::vector<std::int64_t> axes(rank - 2);
    std::iota(axes.begin(), axes.end(), 2);
    return axes;
  }
};

}  // namespace taso::ops::op
