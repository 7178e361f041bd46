// Which operators have a fast path, on which element types.
#pragma once

#include <optional>
#include <vector>

#include "ops/core/array.h"
#include "ops/graph/operator.h"

namespace taso::runtime::kernels {

/// The operator's results, or nothing if there is no fast path for it. The shapes have been checked; `shapes` are those of
/// the results. An operand that nobody else holds may be overwritten.
std::optional<std::vector<Array>> evaluate_fast(const Operator& op, std::vector<Array>& inputs,
                                                const std::vector<Extents>& shapes, unsigned threads);

}  // namespace taso::runtime::kernels
