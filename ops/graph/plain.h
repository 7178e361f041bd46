// The operators' own meaning on arrays of any element type: the slow path that every fast one is tested against.
#pragma once

#include "ops/core/array.h"
#include "ops/graph/operator.h"

namespace taso::ops {

/// Small floats compute in float and integers in 64 bits; the results are rounded or cut back to the element type.
/// The operands have one element type. Throws ShapeError.
std::vector<Array> evaluate_plainly(const Operator& op, std::span<const Array> inputs);

/// The element type of the results: that of the operands, or the attribute of an operator that has none.
ElementType element_type_of_result(const Operator& op, std::span<const Array> inputs);

}  // namespace taso::ops
