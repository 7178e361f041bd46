#include "ops/operators/reduction/local_response_norm.h"

#include <cmath>

namespace taso::ops::op {

Shape LocalResponseNorm::infer(std::span<const Shape> in) const {
  need_rank(name, in[0], 3);
  need_list(name, "size", {size}, 1, 1, greatest_attribute);
  if (!std::isfinite(alpha) || !std::isfinite(beta) || !std::isfinite(bias))
    misfit(name, "alpha, beta and bias are finite numbers");
  return in[0];
}

}  // namespace taso::ops::op
