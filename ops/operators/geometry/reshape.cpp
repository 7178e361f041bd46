#include "ops/operators/geometry/reshape.h"

#include <algorithm>

#include <fmt/format.h>

namespace taso::ops::op {

Shape Reshape::infer(std::span<const Shape> in) const {
  if (std::any_of(shape.begin(), shape.end(), is_negative) || count(shape) != count(in[0]))
    misfit(name, fmt::format("{} and {} do not have equally many elements", text_of(in[0]), text_of(shape)));
  return shape;
}

}  // namespace taso::ops::op
