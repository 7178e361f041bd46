// Which kind of kernel computes an operator (ops::KernelRole, which the operator says itself), and how many operations
// it needs per element.
#pragma once

#include "ops/graph/operator.h"

namespace taso::cost {

using Role = ops::KernelRole;
using ops::role_of;

/// Operations on CUDA cores per element of the result; for `rows` and `pooling` per element read.
double operations_per_element(const Operator& op);

}  // namespace taso::cost
