#include "ops/operators/geometry/split.h"

#include <fmt/format.h>

namespace taso::ops::op {

Shapes Split::infer(std::span<const Shape> in, Fit& fit) const {
  const std::size_t cut = fit.axis(axis, in[0]);
  Shapes parts{in[0], in[0]};
  parts[0][cut] = at;
  parts[1][cut] = in[0][cut] - at;
  for (const Shape& part : parts)
    fit.dimension(part[cut],
                  [&] { return fmt::format("cannot cut {} at {} along axis {}", text_of(in[0]), at.text(), axis); });
  return parts;
}

}  // namespace taso::ops::op
