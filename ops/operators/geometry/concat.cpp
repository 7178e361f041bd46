#include "ops/operators/geometry/concat.h"

#include <fmt/format.h>

namespace taso::ops::op {

Shape Concat::infer(std::span<const Shape> in, Fit& fit) const {
  const std::size_t joined = fit.axis(axis, in[0]);
  const auto message = [&] {
    return fmt::format("cannot join {} and {} along axis {}", text_of(in[0]), text_of(in[1]), axis);
  };
  fit.need(in[0].size() == in[1].size(), message);
  Shape result = in[0];
  for (std::size_t i = 0; i < result.size(); ++i)
    if (i != joined) fit.equal(in[0][i], in[1][i], message);
  result[joined] = in[0][joined] + in[1][joined];
  return result;
}

}  // namespace taso::ops::op
