// How much work an operator does, counted rather than timed. Roofline prices start from it.
#pragma once

#include "ops/core/shape.h"

namespace taso::ops {

struct Work {
  double flops = 0;    ///< additions and multiplications count 1, a transcendental function 10
  double read = 0;     ///< elements read, each once
  double written = 0;  ///< elements written
};

/// The number of elements as a double, with every unknown taken as 1.
double size_estimate(const Shape& shape);

/// The work of reading the inputs once, writing the outputs once and doing `flops_per_element` per output element.
Work streaming_work(std::span<const Shape> inputs, std::span<const Shape> outputs, double flops_per_element);

}  // namespace taso::ops
