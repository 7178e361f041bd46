#include "ops/operators/geometry/slice.h"

#include <fmt/format.h>

namespace taso::ops::op {

Shape Slice::infer(std::span<const Shape> in) const {
  Shape result = in[0];
  Dim& dim = result[axis_in(name, axis, in[0])];
  if (is_negative(begin) || is_negative(end - begin) || is_negative(dim - end))
    misfit(name, fmt::format("there is no part from {} to {} along axis {} of {}", begin.text(), end.text(), axis,
                             text_of(in[0])));
  dim = end - begin;
  return result;
}

}  // namespace taso::ops::op
