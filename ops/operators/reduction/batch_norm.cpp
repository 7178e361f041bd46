#include "ops/operators/reduction/batch_norm.h"

#include <cmath>

#include <fmt/format.h>

namespace taso::ops::op {

Shape BatchNorm::infer(std::span<const Shape> in, Fit& fit) const {
  fit.rank(in[0], 2);
  fit.need(std::isfinite(epsilon), [] { return std::string("epsilon is not a finite number"); });
  for (const Shape& shape : in.subspan(1)) {
    const auto message = [&] {
      return fmt::format("{} is not one number for each channel of {}", text_of(shape), text_of(in[0]));
    };
    fit.need(shape.size() == 1, message);
    fit.equal(shape[0], in[0][1], message);
  }
  return in[0];
}

}  // namespace taso::ops::op
