// Pooling over any number of spatial dimensions, one line of results at a time.
#pragma once

#include "ops/core/shape.h"

namespace taso::runtime::kernels {

struct PoolGeometry {
  std::int64_t planes = 0;  ///< examples times channels
  /// One entry per spatial dimension.
  Extents in, kernel, out;
  std::vector<std::int64_t> strides, dilations, pads_before, pads_behind;
};

template <class T>
void max_pool(const PoolGeometry& geometry, const T* x, T* y, unsigned threads);
/// The divisor is the number of cells inside the input or, with `count_padding`, inside the padded input.
template <class T>
void average_pool(const PoolGeometry& geometry, bool count_padding, const T* x, T* y, unsigned threads);

}  // namespace taso::runtime::kernels
