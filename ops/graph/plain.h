// The operators' definitions on arrays of any element type: the slow path that every fast one is tested against.
#pragma once

#include "ops/core/array.h"
#include "ops/graph/operator.h"

namespace taso::ops {

/// Small floats compute in float and integers in 64 bits; the results are rounded or truncated to the element type. All
/// operands must have the same element type. Throws ShapeError.
std::vector<Array> evaluate_plainly(const Operator& op, std::span<const Array> inputs);

/// The element type of the results: that of the operands, or the attribute of an operator without operands.
ElementType element_type_of_result(const Operator& op, std::span<const Array> inputs);

}  // namespace taso::ops
