#pragma once

#include "ops/operators/reduction/reduction.h"

namespace taso::ops::op {

/// The sum along some axes.
struct ReduceSum {
  static constexpr std::string_view name = "reduce_sum";
  static constexpr Traits traits{Trait::reduction, Trait::sums, Trait::tame};
  static constexpr KernelRole role = KernelRole::rows;
  static constexpr std::size_t min_inputs = 1, max_inputs = 1;
  std::vector<std::int64_t> axes;
  bool keep = true;  ///< whether the axes stay, as dimensions of 1

  template <class Self, class F>
  static void fields(Self& self, F&& field) {
    field("axes", self.axes);
    field("keep", self.keep);
  }
  bool operator==(const ReduceSum&) const = default;

  Shape infer(std::span<const Shape> in, Fit& fit) const { return infer_reduction(fit, in[0], axes, keep); }
  template <Scalar S>
  Tensor<S> evaluate(Tensors<S> in) const {
    Extents extents = extents_of(inferred(*this, shapes_of(in)));
    return Tensor<S>(std::move(extents), sum_along(in[0], axes).data);
  }
  Work work(std::span<const Shape> in) const { return reduction_work(in, inferred(*this, in), axes); }
};

}  // namespace taso::ops::op
