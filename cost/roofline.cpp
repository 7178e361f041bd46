#include "cost/roofline.h"

#include <algorithm>
#include <cmath>

#include "cost/h200.h"

namespace taso {
namespace {

/// Convolutions on tensor cores want the channels of a place side by side. Those of single channels are done elsewhere.
bool gathers_channels(const Kernel& kernel) {
  return kernel.kind == Kernel::Kind::convolution && kernel.layout == Layout::channels_first && kernel.columns > 1;
}

double least(const Kernel& kernel) {
  switch (kernel.kind) {
    case Kernel::Kind::convolution:
      return gathers_channels(kernel) ? h200::least_convolution_channels_first : h200::least_convolution;
    case Kernel::Kind::matmul: return h200::least_matmul;
    case Kernel::Kind::element_wise: return h200::least_element_wise;
    case Kernel::Kind::pooling: return h200::least_pooling;
    case Kernel::Kind::rows: return h200::least_rows;
    case Kernel::Kind::copy: return h200::least_copy;
    case Kernel::Kind::opaque: break;
  }
  return h200::least_opaque;
}

/// Of one step of depth in one tile.
double step(ElementType element, Precision precision) {
  switch (element) {
    case ElementType::float16:
    case ElementType::bfloat16: return h200::step_half;
    case ElementType::float64: return h200::step_float64;
    default: return precision == Precision::tf32 ? h200::step_tf32 : h200::step_float32;
  }
}

double nanoseconds_of_movement(const Kernel& kernel, Precision precision) {
  const double share = stored(kernel.element, precision) == kernel.element ? 1.0 : 0.5;
  const double weights = kernel.weight_bytes * share, activations = kernel.bytes * share;
  return std::max(weights / h200::weight_bandwidth + activations / h200::activation_bandwidth,
                  std::min(weights + activations, h200::stream_share) / h200::stream_bandwidth);
}

}  // namespace

double Roofline::nanoseconds_of_product(const Kernel& kernel) const {
  if (kernel.depth == 0) return 0;
  const double tiles =
      kernel.batches * std::ceil(kernel.rows / h200::tile_rows) * std::ceil(kernel.columns / h200::tile_columns);
  const double rounds = std::ceil(tiles / h200::multiprocessors);
  const double tiled = rounds * (kernel.depth + h200::tile_fill) *
                       step(stored(kernel.element, precision_), precision_) *
                       (gathers_channels(kernel) ? h200::channels_first : 1.0);
  const double direct = 2 * kernel.batches * kernel.rows * kernel.columns * kernel.depth / h200::direct_operations;
  const bool has_groups = kernel.kind == Kernel::Kind::convolution && kernel.batches > 1;
  return has_groups ? std::min(tiled, direct) : tiled;
}

Cost Roofline::price(const GraphView&, const Kernel& kernel) const { return price(kernel); }

Cost Roofline::price(const Kernel& kernel) const {
  const double nanoseconds =
      least(kernel) + std::max({nanoseconds_of_product(kernel), kernel.operations / h200::operations,
                                nanoseconds_of_movement(kernel, precision_)});
  return static_cast<Cost>(std::min(nanoseconds * 1e3 + 0.5, static_cast<double>(highest_kernel_price)));
}

}  // namespace taso
