#include "ops/operators/reduction/batch_norm.h"

#include <cmath>

#include <fmt/format.h>

namespace taso::ops::op {

Shape BatchNorm::infer(std::span<const Shape> in) const {
  need_rank(name, in[0], 2);
  if (!std::isfinite(epsilon)) misfit(name, "epsilon is not a finite number");
  for (const Shape& shape : in.subspan(1))
    if (shape != Shape{in[0][1]})
      misfit(name, fmt::format("{} is not one number for each channel of {}", text_of(shape), text_of(in[0])));
  return in[0];
}

}  // namespace taso::ops::op
