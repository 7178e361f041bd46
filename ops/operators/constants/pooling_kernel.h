#pragma once

#include "ops/operators/constants/diagonal_kernel.h"

namespace taso::ops::op {

/// The kernel of a convolution that takes the mean of each window, padding included.
template <class Size>
struct PoolingKernelOf {
  static constexpr std::string_view name = "pooling_kernel";
  static constexpr Traits traits{Trait::tame};
  static constexpr KernelRole role = KernelRole::constant;
  static constexpr std::size_t min_inputs = 0, max_inputs = 0;
  Size channels = 1;
  Size groups = 1;
  std::vector<Size> kernel;
  ElementType type = ElementType::float32;

  template <class Self, class F>
  static void fields(Self& self, F&& field) {
    field("channels", self.channels);
    field("groups", self.groups);
    field("kernel", self.kernel);
    field("type", self.type);
  }
  bool operator==(const PoolingKernelOf&) const = default;

  Shape infer(std::span<const Shape>, Fit& fit) const {
    return infer_diagonal_kernel(fit, channels, groups, kernel, type);
  }
  template <Scalar S>
  Tensor<S> evaluate(Tensors<S> in) const {
    const Extents extents = extents_of(inferred(*this, shapes_of(in)));
    const std::int64_t size = count(kernel);
    const S share = Math<S>::divide(Math<S>::constant(1), Math<S>::constant(static_cast<double>(size)));
    return diagonal_kernel(extents, std::vector<S>(static_cast<std::size_t>(size), share));
  }
  Work work(std::span<const Shape> in) const { return {0, 0, size_estimate(inferred(*this, in))}; }
};

using PoolingKernel = PoolingKernelOf<std::int64_t>;

}  // namespace taso::ops::op
