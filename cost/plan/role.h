// What an operator is to a planner: which sort of kernel does it, and how much it does to an element.
#pragma once

#include <cstdint>

#include "ops/graph/operator.h"

namespace taso::cost {

enum class Role : std::uint8_t {
  element_wise,  ///< one thing to each element; broadcasts
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

/// Operations on CUDA cores for each element of the result; for `rows` and `pooling` for each element that is read.
double operations_per_element(const Operator& op);

}  // namespace taso::cost
