#include "ops/operators/reduction/local_response_norm.h"

#include <cmath>

namespace taso::ops::op {

template <class Size>
Shape LocalResponseNormOf<Size>::infer(std::span<const Shape> in, Fit& fit) const {
  fit.rank(in[0], 3);
  fit.number("size", size, 1, greatest_attribute);
  fit.need(std::isfinite(alpha) && std::isfinite(beta) && std::isfinite(bias),
           [] { return std::string("alpha, beta and bias are finite numbers"); });
  return in[0];
}

template Shape LocalResponseNormOf<std::int64_t>::infer(std::span<const Shape>, Fit&) const;
template Shape LocalResponseNormOf<Dim>::infer(std::span<const Shape>, Fit&) const;

}  // namespace taso::ops::op
