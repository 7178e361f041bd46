#pragma once

#include "ops/operators/constants/diagonal_kernel.h"

namespace taso::ops::op {

/// The kernel of a convolution that changes nothing: stride 1, padded by half the kernel on each side.
template <class Size>
struct IdentityKernelOf {
  static constexpr std::string_view name = "identity_kernel";
  static constexpr Traits traits{Trait::tame};
  static constexpr KernelRole role = KernelRole::constant;
  static constexpr std::size_t min_inputs = 0, max_inputs = 0;
  Size channels = 1;
  Size groups = 1;
  std::vector<Size> kernel;  ///< sizes are odd, so that there is a centre
  ElementType type = ElementType::float32;

  template <class Self, class F>
  static void fields(Self& self, F&& field) {
    field("channels", self.channels);
    field("groups", self.groups);
    field("kernel", self.kernel);
    field("type", self.type);
  }
  bool operator==(const IdentityKernelOf&) const = default;

  Shape infer(std::span<const Shape>, Fit& fit) const {
    for (const Size& size : kernel)
      fit.divides(2, Dim(size) - 1, [&] { return "a kernel of size " + Dim(size).text() + " has no middle"; });
    return infer_diagonal_kernel(fit, channels, groups, kernel, type);
  }
  template <Scalar S>
  Tensor<S> evaluate(Tensors<S> in) const {
    const Extents extents = extents_of(inferred(*this, shapes_of(in)));
    std::vector<S> cells(static_cast<std::size_t>(count(kernel)), Math<S>::constant(0));
    cells[cells.size() / 2] = Math<S>::constant(1);  // the centre, because sizes are odd
    return diagonal_kernel(extents, cells);
  }
  Work work(std::span<const Shape> in) const { return {0, 0, size_estimate(inferred(*this, in))}; }
};

using IdentityKernel = IdentityKernelOf<std::int64_t>;

}  // namespace taso::ops::op
