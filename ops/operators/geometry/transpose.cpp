#include "ops/operators/geometry/transpose.h"

#include <fmt/format.h>

namespace taso::ops::op {

Shape Transpose::infer(std::span<const Shape> in, Fit& fit) const {
  const Shape& x = in[0];
  std::vector<bool> used(x.size(), false);
  Shape result;
  for (const std::int64_t axis : permutation) {
    const std::size_t index = fit.axis(axis, x);
    fit.need(!used[index], [&] { return fmt::format("axis {} is given twice", axis); });
    used[index] = true;
    result.push_back(x[index]);
  }
  fit.need(result.size() == x.size(),
           [&] { return fmt::format("{} axes for an operand {}", permutation.size(), text_of(x)); });
  return result;
}

}  // namespace taso::ops::op
