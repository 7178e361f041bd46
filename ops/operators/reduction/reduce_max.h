#pragma once

#include "ops/operators/reduction/reduction.h"

namespace taso::ops::op {

/// The maximum along some axes.
struct ReduceMax {
  static constexpr std::string_view name = "reduce_max";
  static constexpr Traits traits{Trait::reduction, Trait::tame};
  static constexpr KernelRole role = KernelRole::rows;
  static constexpr std::size_t min_inputs = 1, max_inputs = 1;
  std::vector<std::int64_t> axes;
  bool keep = true;  ///< whether the axes stay, as dimensions of 1

  template <class Self, class F>
  static void fields(Self& self, F&& field) {
    field("axes", self.axes);
    field("keep", self.keep);
  }
  bool operator==(const ReduceMax&) const = default;

  Shape infer(std::span<const Shape> in, Fit& fit) const {
    Shape result = infer_reduction(fit, in[0], axes, keep);
    need_elements(fit, in[0], axes);
    return result;
  }
  template <Scalar S>
  Tensor<S> evaluate(Tensors<S> in) const {
    Extents extents = extents_of(inferred(*this, shapes_of(in)));
    return Tensor<S>(std::move(extents), max_along(in[0], axes).data);
  }
  Work work(std::span<const Shape> in) const { return reduction_work(in, inferred(*this, in), axes); }
};

}  // namespace taso::ops::op
