// A product of matrices as libraries want it: as few batch dimensions as possible, each tensor with a stride for each.
#pragma once

#include <optional>
#include <vector>

#include "runtime/gpu/launch.h"

namespace taso::gpu::cuda {

struct MatmulShape {
  /// A dimension of the result, with the strides of everything along it; 0 where it is stretched.
  struct Axis {
    std::int64_t extent = 1;
    std::int64_t a = 0, b = 0, y = 0;
    std::vector<std::int64_t> operands;  ///< of the epilogue's steps; 0 for those without an operand
  };
  std::vector<Axis> batches;  ///< the outermost first, none of extent 1
  Axis rows, columns;
  std::int64_t depth = 1, a_depth = 0, b_depth = 0;
};

/// Merges batch dimensions with one another and, where the second factor is the same for all, with the rows.
MatmulShape shape_of(const MatmulLaunch& launch);

}  // namespace taso::gpu::cuda
