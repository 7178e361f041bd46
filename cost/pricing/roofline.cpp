#include "cost/pricing/roofline.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "cost/pricing/call.h"
#include "cost/pricing/host_work.h"

namespace taso::cost {
namespace {

/// Whether a convolution has to rearrange NCHW for tensor cores, which expect NHWC. Depthwise convolutions use other
/// kernels.
bool gathers_channels(const Kernel& kernel) {
  return kernel.kind == Kernel::Kind::convolution && kernel.layout == Layout::channels_first && kernel.columns > 1;
}

/// Multiply-adds per nanosecond of one multiprocessor.
double multiplied(ElementType element, Precision precision) {
  switch (element) {
    case ElementType::float16:
    case ElementType::bfloat16: return h200::multiplied_half;
    case ElementType::float64: return h200::multiplied_float64;
    default: return precision == Precision::tf32 ? h200::multiplied_tf32 : h200::multiplied_float32;
  }
}

/// The depth that is fetched at a time.
constexpr double slab = 32;
/// Tiles are squares of this size. Larger ones multiply no faster, and leave multiprocessors idle.
constexpr std::array<double, 2> tile_sizes{32, 64};
/// The depth of a tile is cut into at most 2 to the power of this many parts.
constexpr int most_halvings = 4;

}  // namespace

double Roofline::nanoseconds_of_tiles(const Kernel& kernel) const {
  const ElementType element = stored(kernel.element, precision_);
  const double size = static_cast<double>(std::max<std::size_t>(size_of(element), 1));
  const double rate = multiplied(element, precision_);
  double best = 0;
  for (const double side : tile_sizes) {
    const double tiles = kernel.batches * std::ceil(kernel.rows / side) * std::ceil(kernel.columns / side);
    // For one slab of one tile.
    const double fetched = slab * std::max(2 * side * size / constants_.tile_bandwidth, 2 * side * side / rate);
    const double handed_on = side * side * size / constants_.result_bandwidth;
    double parts = 1;
    for (int halvings = 0; halvings <= most_halvings; ++halvings, parts *= 2) {
      const double blocks = std::ceil(tiles * parts / h200::multiprocessors);  // on one multiprocessor
      const double slabs = std::ceil(kernel.depth / (slab * parts));
      const double time = slabs * (blocks * fetched + constants_.slab_wait) + blocks * handed_on +
                          static_cast<double>(halvings) * constants_.meeting;
      if (best == 0 || time < best) best = time;
    }
  }
  return best * (gathers_channels(kernel) ? constants_.channels_first : 1.0) *
         (kernel.has_few_channels ? constants_.few_channels : 1.0) *
         (element == ElementType::float32 && precision_ == Precision::fp32 ? constants_.unrounded : 1.0);
}

/// Activations that do not fit into the cache come from memory, at most at its peak bandwidth.
double Roofline::nanoseconds_of_activations(double bytes) const {
  const double cached = std::min(bytes, h200::cache_bytes);
  return cached / constants_.activation_rate + (bytes - cached) / h200::peak_bandwidth;
}

/// The time of a kernel's kind and product, at least `other` nanoseconds.
double Roofline::nanoseconds_of_kind(const Kernel& kernel, Kernel::Kind kind, double other) const {
  switch (kind) {
    case Kernel::Kind::convolution: {
      const double least = gathers_channels(kernel) ? constants_.least_channels_first : constants_.least_convolution;
      const double tiled = least + std::max(nanoseconds_of_tiles(kernel), other);
      if (kernel.batches <= 1) return tiled;
      const double products = 2 * kernel.batches * kernel.rows * kernel.columns * kernel.depth;
      const double direct = products / constants_.direct_operations + kernel.depth * constants_.direct_wait;
      return std::min(tiled, constants_.least_direct + std::max(direct, other));
    }
    case Kernel::Kind::matmul: return constants_.least_matmul + std::max(nanoseconds_of_tiles(kernel), other);
    case Kernel::Kind::attention: {
      Kernel first = kernel;
      first.columns = kernel.depth;
      first.depth = kernel.first_depth;
      return constants_.least_matmul + std::max(nanoseconds_of_tiles(first) + nanoseconds_of_tiles(kernel), other);
    }
    case Kernel::Kind::element_wise: return constants_.least_element_wise + other;
    case Kernel::Kind::pooling: return constants_.least_pooling + other;
    case Kernel::Kind::rows: return constants_.least_rows + other;
    case Kernel::Kind::copy: return constants_.least_copy + other;
    case Kernel::Kind::opaque: break;
  }
  return h200::least_opaque + other;
}

Cost Roofline::price(const GraphView& view, const Kernel& kernel) const {
  // A device can run some opaque operators: those that work element by element or only move data.
  if (kernel.kind != Kernel::Kind::opaque) return price(kernel, kernel.kind);
  if (!can_be_called(view, kernel))
    return static_cast<Cost>(
        std::min(nanoseconds_on_host(view, kernel) * 1e3 + 0.5, static_cast<double>(highest_kernel_price)));
  const auto function = function_of(view, kernel.main);
  return price(kernel, function ? kind_of(*function) : Kernel::Kind::copy);
}

Cost Roofline::least(const GraphView& view, const Kernel& kernel) const {
  return price(view, least_work(view, kernel));
}

Kernel least_work(const GraphView& view, const Kernel& kernel) {
  switch (kernel.kind) {
    case Kernel::Kind::convolution:
    case Kernel::Kind::matmul:
    case Kernel::Kind::pooling: return kernel;
    case Kernel::Kind::opaque:
      if (!can_be_called(view, kernel)) return kernel;
      break;
    default: break;
  }
  Kernel fused = kernel;
  fused.weight_bytes = fused.bytes = 0;
  for (const PlanValue value : kernel.written) fused.bytes += bytes_of(view, value);
  return fused;
}

Cost Roofline::price(const Kernel& kernel, Kernel::Kind kind) const {
  const double share = stored(kernel.element, precision_) == kernel.element ? 1.0 : 0.5;
  const double weights = kernel.weight_bytes * share, activations = kernel.bytes * share;
  const double other = std::max(kernel.operations / constants_.operations, nanoseconds_of_activations(activations));
  double nanoseconds = nanoseconds_of_kind(kernel, kind, other) + kernel.chain * constants_.chain_wait;
  nanoseconds += weights / constants_.weight_rate;
  if (weights > 0 && !is_warm_) {
    // Weights start to arrive while the previous kernel runs, but no faster than memory delivers them.
    nanoseconds = constants_.weight_wait + std::max(nanoseconds, weights / h200::peak_bandwidth);
  }
  return static_cast<Cost>(std::min(nanoseconds * 1e3 + 0.5, static_cast<double>(highest_kernel_price)));
}

}  // namespace taso::cost
