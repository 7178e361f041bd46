#include "ops/operators/geometry/transpose.h"

#include <fmt/format.h>

namespace taso::ops::op {

Shape Transpose::infer(std::span<const Shape> in) const {
  const Shape& x = in[0];
  std::vector<bool> used(x.size(), false);
  Shape result;
  for (const std::int64_t axis : permutation) {
    const std::size_t index = axis_in(name, axis, x);
    if (used[index]) misfit(name, fmt::format("axis {} is given twice", axis));
    used[index] = true;
    result.push_back(x[index]);
  }
  if (result.size() != x.size()) misfit(name, fmt::format("{} axes for an operand {}", permutation.size(), text_of(x)));
  return result;
}

}  // namespace taso::ops::op
