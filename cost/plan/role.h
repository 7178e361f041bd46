// Classifies operators for the planner: which kind of kernel computes an operator, and how many operations it needs per
// element.
#pragma once

#include <cstdint>

#include "ops/graph/operator.h"

namespace taso::cost {

enum class Role : std::uint8_t {
  element_wise,  ///< one operation per element; broadcasts
  convolution,
  matmul,
  pooling,
  rows,  ///< reductions, softmax, layer norm: whole rows at a time
  concat,
  split,
  slice,
  transpose,
  reshape,
  copy,      ///< other movement: pad, enlarge
  constant,  ///< has no operands
};

Role role_of(const Operator& op);

/// Operations on CUDA cores per element of the result; for `rows` and `pooling` per element read.
double operations_per_element(const Operator& op);

}  // namespace taso::cost
