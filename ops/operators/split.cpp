#include "ops/operators/split.h"

#include <fmt/format.h>

namespace taso::op {

Shapes Split::infer(std::span<const Shape> in) const {
  if (axis < 0 || axis >= static_cast<std::int64_t>(in[0].size()))
    throw ShapeError(fmt::format("split: axis {} of {}", axis, text_of(in[0])));
  Shapes parts{in[0], in[0]};
  Dim& first = parts[0][static_cast<std::size_t>(axis)];
  Dim& second = parts[1][static_cast<std::size_t>(axis)];
  second = first - at;
  first = at;
  if ((first.is_static() && first.value() < 0) || (second.is_static() && second.value() < 0))
    throw ShapeError(fmt::format("split: cannot cut {} at {} along axis {}", text_of(in[0]), at.text(), axis));
  return parts;
}

}  // namespace taso::op
