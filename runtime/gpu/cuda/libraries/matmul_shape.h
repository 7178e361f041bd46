// A matrix product as libraries expect it: as few batch dimensions as possible, with a stride for each tensor.
#pragma once

#include <optional>
#include <vector>

#include "runtime/gpu/launch.h"

namespace taso::gpu::cuda {

struct MatmulShape {
  /// A dimension of the result, with the strides of all tensors along it; 0 where a tensor is broadcast.
  struct Axis {
    std::int64_t extent = 1;
    std::int64_t a = 0, b = 0, y = 0;
    std::vector<std::int64_t> operands;  ///< of the epilogue's steps; 0 for those without an operand
  };
  std::vector<Axis> batches;  ///< outermost first, without extents of 1
  Axis rows, columns;
  std::int64_t depth = 1, a_depth = 0, b_depth = 0;
};

/// Merges batch dimensions with one another and, if the second factor is the same for all, with the rows.
MatmulShape shape_of(const MatmulLaunch& launch);

}  // namespace taso::gpu::cuda
