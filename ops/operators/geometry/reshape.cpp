#include "ops/operators/geometry/reshape.h"

#include <fmt/format.h>

namespace taso::ops::op {

Shape Reshape::infer(std::span<const Shape> in, Fit& fit) const {
  const auto message = [&] {
    return fmt::format("{} and {} do not have equally many elements", text_of(in[0]), text_of(shape));
  };
  for (const Dim& dim : shape) fit.dimension(dim, message);
  fit.equal(count(in[0]), count(shape), message);
  return shape;
}

}  // namespace taso::ops::op
