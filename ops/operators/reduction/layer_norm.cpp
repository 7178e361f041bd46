#include "ops/operators/reduction/layer_norm.h"

#include <cmath>

#include <fmt/format.h>

namespace taso::ops::op {

Shape LayerNorm::infer(std::span<const Shape> in, Fit& fit) const {
  fit.axis(axis, in[0]);
  fit.need(std::isfinite(epsilon), [] { return std::string("epsilon is not a finite number"); });
  for (const Shape& shape : in.subspan(1)) {
    const auto message = [&] { return fmt::format("{} does not broadcast to {}", text_of(shape), text_of(in[0])); };
    fit.need(shape.size() <= in[0].size(), message);
    const std::size_t missing = in[0].size() - shape.size();
    for (std::size_t i = 0; i < shape.size(); ++i)
      if (shape[i] != Dim(1)) fit.equal(shape[i], in[0][missing + i], message);
  }
  return in[0];
}

}  // namespace taso::ops::op
