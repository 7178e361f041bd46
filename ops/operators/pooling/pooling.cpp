#include "ops/operators/pooling/pooling.h"

#include <fmt/format.h>

namespace taso::ops::op {

Shape infer_pooling(std::string_view name, const Shape& x, const std::vector<std::int64_t>& kernel,
                    const Windows& windows) {
  need_rank(name, x, 3);
  const std::size_t rank = x.size() - 2;
  need_list(name, "kernel", kernel, rank, 1, greatest_attribute);
  const Shape places = windows.infer(name, std::span(x).subspan(2), shape_of(kernel));
  for (std::size_t axis = 0; axis < rank; ++axis) {
    // Otherwise a window could lie entirely in the padding, with nothing to pool.
    if (windows.pads[axis] >= kernel[axis] || windows.pads[rank + axis] >= kernel[axis])
      misfit(name, fmt::format("padding is not smaller than the kernel along spatial dimension {}", axis));
    if (x[2 + axis] == Dim(0)) misfit(name, fmt::format("nothing to pool in {}", text_of(x)));
  }
  Shape result{x[0], x[1]};
  result.insert(result.end(), places.begin(), places.end());
  return result;
}

Work pooling_work(std::span<const Shape> in, const Shape& out, const std::vector<std::int64_t>& kernel) {
  double cells = 1;
  for (const std::int64_t size : kernel) cells *= static_cast<double>(size);
  return streaming_work(in, std::span(&out, 1), cells);
}

}  // namespace taso::ops::op
