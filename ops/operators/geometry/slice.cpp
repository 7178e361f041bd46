#include "ops/operators/geometry/slice.h"

#include <fmt/format.h>

namespace taso::ops::op {

Shape Slice::infer(std::span<const Shape> in, Fit& fit) const {
  const auto message = [&] {
    return fmt::format("there is no part from {} to {} along axis {} of {}", begin.text(), end.text(), axis,
                       text_of(in[0]));
  };
  Shape result = in[0];
  Dim& dim = result[fit.axis(axis, in[0])];
  fit.at_least(begin, 0, message);
  fit.dimension(end - begin, message);
  fit.at_least(dim, end, message);
  dim = end - begin;
  return result;
}

}  // namespace taso::ops::op
