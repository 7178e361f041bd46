// Constant convolution kernels that keep channels apart: filter c reads channel c only.
#pragma once

#include "ops/operators/elementwise/elementwise.h"

namespace taso::ops::op {

/// [channels, channels / groups, kernel...]
template <class Size>
Shape infer_diagonal_kernel(Fit& fit, Size channels, Size groups, const std::vector<Size>& kernel, ElementType type);

/// The kernel that applies `cells`, given in row-major order, to every channel.
template <Scalar S>
Tensor<S> diagonal_kernel(const Extents& extents, const std::vector<S>& cells) {
  Tensor<S> result(extents, Math<S>::constant(0));
  const auto size = static_cast<std::int64_t>(cells.size());
  for (std::int64_t c = 0; c < extents[0]; ++c)
    for (std::int64_t i = 0; i < size; ++i)
      result[(c * extents[1] + c % extents[1]) * size + i] = cells[static_cast<std::size_t>(i)];
  return result;
}

}  // namespace taso::ops::op
