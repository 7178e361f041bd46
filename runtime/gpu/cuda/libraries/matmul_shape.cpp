#include "runtime/gpu/cuda/libraries/matmul_shape.h"

#include "ops/core/error.h"

namespace taso::gpu::cuda {

namespace {

using Axis = MatmulShape::Axis;

Axis axis_of(const MatmulLaunch& launch, std::size_t at) {
  const auto stride = [at](const LaunchTensor& tensor) { return tensor.extents[at] == 1 ? 0 : tensor.strides[at]; };
  Axis axis{launch.y.extents[at], stride(launch.a), stride(launch.b), stride(launch.y), {}};
  for (const Pointwise& step : launch.epilogue) axis.operands.push_back(step.operand ? stride(*step.operand) : 0);
  return axis;
}

bool is_merged(std::int64_t outer, std::int64_t inner, std::int64_t extent) { return outer == inner * extent; }

/// Whether two dimensions can be merged for all tensors except the second factor, which has no rows.
bool can_merge(const Axis& outer, const Axis& inner) {
  if (!is_merged(outer.a, inner.a, inner.extent) || !is_merged(outer.y, inner.y, inner.extent)) return false;
  for (std::size_t i = 0; i < outer.operands.size(); ++i)
    if (!is_merged(outer.operands[i], inner.operands[i], inner.extent)) return false;
  return true;
}

}  // namespace

MatmulShape shape_of(const MatmulLaunch& launch) {
  const std::size_t rank = launch.y.extents.size();
  check(rank >= 2 && launch.a.extents.size() == rank && launch.b.extents.size() == rank, "a product has one rank");
  MatmulShape shape;
  shape.rows = axis_of(launch, rank - 2);
  shape.rows.b = 0;
  shape.columns = axis_of(launch, rank - 1);
  shape.columns.a = 0;
  shape.columns.b = launch.b.extents[rank - 1] == 1 ? 0 : launch.b.strides[rank - 1];
  shape.depth = launch.a.extents[rank - 1];
  shape.a_depth = launch.a.strides[rank - 1];
  shape.b_depth = launch.b.strides[rank - 2];
  for (std::size_t at = 0; at + 2 < rank; ++at) {
    if (launch.y.extents[at] == 1) continue;
    const Axis axis = axis_of(launch, at);
    if (!shape.batches.empty() && can_merge(shape.batches.back(), axis) &&
        is_merged(shape.batches.back().b, axis.b, axis.extent)) {
      const std::int64_t extent = shape.batches.back().extent * axis.extent;
      shape.batches.back() = axis;
      shape.batches.back().extent = extent;
    } else {
      shape.batches.push_back(axis);
    }
  }
  // A single row has no stride of its own: it takes that of the batch.
  while (!shape.batches.empty() && shape.batches.back().b == 0) {
    const Axis& last = shape.batches.back();
    if (shape.rows.extent == 1 && last.a != 0) {
      shape.rows = last;
    } else if (can_merge(last, shape.rows)) {
      shape.rows.extent *= last.extent;
    } else {
      break;
    }
    shape.batches.pop_back();
  }
  return shape;
}

}  // namespace taso::gpu::cuda
