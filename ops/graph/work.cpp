#include "ops/graph/work.h"

#include <algorithm>

namespace taso::ops {

double size_estimate(const Shape& shape) {
  double product = 1;
  for (const Dim& dim : shape) {
    // With every unknown at 1 a kernel may not fit; count at least one window then.
    const std::int64_t least = dim.is_static() ? 0 : 1;
    product *= static_cast<double>(std::max(least, dim.evaluate([](std::string_view) { return 1; })));
  }
  return product;
}

Work streaming_work(std::span<const Shape> inputs, std::span<const Shape> outputs, double flops_per_element) {
  Work work;
  for (const Shape& shape : inputs) work.read += size_estimate(shape);
  for (const Shape& shape : outputs) work.written += size_estimate(shape);
  work.flops = work.written * flops_per_element;
  return work;
}

}  // namespace taso::ops
