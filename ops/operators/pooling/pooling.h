// Shared by the pooling operators: a window slides over the spatial dimensions of each channel.
#pragma once

#include "ops/operators/elementwise/elementwise.h"
#include "ops/operators/pooling/windows.h"

namespace taso::ops::op {

/// The shape that results from sliding `kernel` over x [N, C, spatial...].
template <class Size>
Shape infer_pooling(Fit& fit, const Shape& x, const std::vector<Size>& kernel, const WindowsOf<Size>& windows);

/// Calls `pool(plane, window)` for every window of every channel and collects the results. `plane` points to the first
/// element of the channel.
template <Scalar S, class Pool>
Tensor<S> evaluate_pooling(const Tensor<S>& x, const Extents& extents, const std::vector<std::int64_t>& kernel,
                           const Windows& windows, Pool&& pool) {
  const Extents area = spatial(x.extents), places = spatial(extents);
  const std::int64_t input_size = count(area), output_size = count(places);
  Tensor<S> result(extents, Math<S>::constant(0));
  windows.for_each(area, kernel, places, [&](const Window& window) {
    for (std::int64_t plane = 0; plane < extents[0] * extents[1]; ++plane)
      result[plane * output_size + window.output] = pool(x.data.data() + plane * input_size, window);
  });
  return result;
}

/// The number of cells of a window.
double cells_of(const std::vector<std::int64_t>& kernel);

/// The work of one operation per cell of each window.
inline Work pooling_work(std::span<const Shape> in, const Shape& out, double cells) {
  return streaming_work(in, std::span(&out, 1), cells);
}

}  // namespace taso::ops::op
