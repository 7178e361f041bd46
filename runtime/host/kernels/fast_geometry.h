// The operators that only move elements, on any element type.
#pragma once

#include <optional>
#include <vector>

#include "ops/core/array.h"
#include "ops/graph/operator.h"

namespace taso::runtime::kernels {

/// The results, if the operator only moves elements.
std::optional<std::vector<Array>> evaluate_geometry(const Operator& op, std::span<const Array> inputs,
                                                    const std::vector<Extents>& shapes, unsigned threads);

Array transposed(const Array& x, const std::vector<std::int64_t>& permutation, unsigned threads);

}  // namespace taso::runtime::kernels
