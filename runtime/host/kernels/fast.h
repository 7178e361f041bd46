// Selects the fast kernel of an operator, by element type.
#pragma once

#include <optional>
#include <vector>

#include "ops/core/array.h"
#include "ops/graph/operator.h"

namespace taso::runtime::kernels {

/// The results of the operator, or nothing if it has no fast kernel. The shapes are already checked; `shapes` are those
/// of the results. An operand without other owners may be overwritten.
std::optional<std::vector<Array>> evaluate_fast(const Operator& op, std::vector<Array>& inputs,
                                                const std::vector<Extents>& shapes, unsigned threads);

}  // namespace taso::runtime::kernels
