// Convolution of any number of spatial dimensions, also transposed, by matrix products; depthwise planes directly.
#pragma once

#include <cstdint>
#include <vector>

#include "ops/core/shape.h"

namespace taso::runtime::kernels {

/// More spatial dimensions than models have; others take the slow path.
inline constexpr std::size_t max_spatial = 6;

struct ConvGeometry {
  std::int64_t batch = 1, groups = 1;
  std::int64_t in_channels = 0, out_channels = 0;  ///< per group
  /// One entry per spatial dimension; there is at least one and at most max_spatial.
  Extents in, kernel, out;
  std::vector<std::int64_t> strides, dilations, pads;  ///< only the pads in front; `out` implies those at the end
};

/// x is [batch, groups * in_channels, in...], w is [groups * out_channels, in_channels, kernel...], bias may be null, y
/// is [batch, groups * out_channels, out...].
template <class T>
void convolve(const ConvGeometry& geometry, const T* x, const T* w, const T* bias, T* y, unsigned threads);

/// The same for one input and one output channel per group and two dimensions.
template <class T>
void convolve_planes(const ConvGeometry& geometry, const T* x, const T* w, const T* bias, T* y, unsigned threads);

/// The transposed convolution; w is [groups * in_channels, out_channels, kernel...]. The pads are cut off y.
template <class T>
void convolve_transposed(const ConvGeometry& geometry, const T* x, const T* w, const T* bias, T* y, unsigned threads);

}  // namespace taso::runtime::kernels
