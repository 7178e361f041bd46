#include "ops/operators/geometry/pad.h"

#include <cmath>
#include <limits>

namespace taso::ops::op {

Shape Pad::infer(std::span<const Shape> in) const {
  constexpr std::int64_t any = std::numeric_limits<std::int64_t>::max();
  need_list(name, "before", before, in[0].size(), 0, any);
  need_list(name, "after", after, in[0].size(), 0, any);
  if (!std::isfinite(value)) misfit(name, "the value is not a finite number");
  Shape result = in[0];
  for (std::size_t i = 0; i < result.size(); ++i) result[i] = result[i] + before[i] + after[i];
  return result;
}

}  // namespace taso::ops::op
