#include "ops/operators/geometry/concat.h"

#include <fmt/format.h>

namespace taso::ops::op {

Shape Concat::infer(std::span<const Shape> in) const {
  const std::size_t joined = axis_in(name, axis, in[0]);
  const auto refuse = [&] {
    misfit(name, fmt::format("cannot join {} and {} along axis {}", text_of(in[0]), text_of(in[1]), axis));
  };
  if (in[0].size() != in[1].size()) refuse();
  Shape result = in[0];
  for (std::size_t i = 0; i < result.size(); ++i)
    if (i != joined && in[0][i] != in[1][i]) refuse();
  result[joined] = in[0][joined] + in[1][joined];
  return result;
}

}  // namespace taso::ops::op
