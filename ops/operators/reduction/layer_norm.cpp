#include "ops/operators/reduction/layer_norm.h"

#include <fmt/format.h>

namespace taso::ops::op {

Shape LayerNorm::infer(std::span<const Shape> in) const {
  axis_in(name, axis, in[0]);
  if (!std::isfinite(epsilon)) misfit(name, "epsilon is not a finite number");
  for (const Shape& shape : in.subspan(1))
    if (shape.size() > in[0].size() || broadcast(in[0], shape) != in[0])
      misfit(name, fmt::format("{} does not broadcast to {}", text_of(shape), text_of(in[0])));
  return in[0];
}

}  // namespace taso::ops::op
