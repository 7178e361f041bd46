#pragma once

#include <algorithm>

#include "ops/operators/constants/diagonal_kernel.h"

namespace taso::ops::op {

/// The kernel of a convolution that changes nothing: stride 1, padded by half the kernel on each side.
struct IdentityKernel {
  static constexpr std::string_view name = "identity_kernel";
  static constexpr std::size_t min_inputs = 0, max_inputs = 0;
  std::int64_t channels = 1;
  std::int64_t groups = 1;
  std::vector<std::int64_t> kernel;  ///< sizes are odd, so that there is a centre
  ElementType type = ElementType::float32;

  template <class Self, class F>
  static void fields(Self& self, F&& field) {
    field("channels", self.channels);
    field("groups", self.groups);
    field("kernel", self.kernel);
    field("type", self.type);
  }
  bool operator==(const IdentityKernel&) const = default;

  Shape infer(std::span<const Shape>) const {
    if (std::any_of(kernel.begin(), kernel.end(), [](std::int64_t size) { return size % 2 == 0; }))
      misfit(name, "kernel " + text_of(kernel) + " has no middle");
    return infer_diagonal_kernel(name, channels, groups, kernel, type);
  }
  template <Scalar S>
  Tensor<S> evaluate(Tensors<S> in) const {
    const Extents extents = extents_of(infer(shapes_of(in)));
    std::vector<S> cells(static_cast<std::size_t>(count(kernel)), Math<S>::constant(0));
    cells[cells.size() / 2] = Math<S>::constant(1);  // the centre, because sizes are odd
    return diagonal_kernel(extents, cells);
  }
  Work work(std::span<const Shape> in) const { return {0, 0, size_estimate(infer(in))}; }
};

}  // namespace taso::ops::op
