#include "ops/operators/geometry/split.h"

#include <fmt/format.h>

namespace taso::ops::op {

Shapes Split::infer(std::span<const Shape> in) const {
  const std::size_t cut = axis_in(name, axis, in[0]);
  Shapes parts{in[0], in[0]};
  Dim& first = parts[0][cut];
  Dim& second = parts[1][cut];
  second = first - at;
  first = at;
  if (is_negative(first) || is_negative(second))
    misfit(name, fmt::format("cannot cut {} at {} along axis {}", text_of(in[0]), at.text(), axis));
  return parts;
}

}  // namespace taso::ops::op
