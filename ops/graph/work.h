// How much an operator does, counted and not timed: what roofline prices start from.
#pragma once

#include "ops/core/shape.h"

namespace taso::ops {

struct Work {
  double flops = 0;    ///< additions and multiplications, one each; a transcendental function counts 10
  double read = 0;     ///< elements read, each once
  double written = 0;  ///< elements written
};

/// The number of elements as a double, an unknown dimension taken as 1.
double size_estimate(const Shape& shape);

/// Work of an operator that reads its inputs once, writes its outputs once and does `flops_per_element` on each output.
Work streaming_work(std::span<const Shape> inputs, std::span<const Shape> outputs, double flops_per_element);

}  // namespace taso::ops
