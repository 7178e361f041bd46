#include "runtime/gpu/share.h"

#include <algorithm>
#include <cmath>

#include "cost/pricing/h200.h"

namespace taso::gpu {
namespace {

/// The threads that a multiprocessor runs concurrently, and the bytes that one thread of a copying kernel moves.
constexpr double threads = 2048, bytes_of_thread = 32;
/// The size of float32, of which tiles consist unless the type is smaller.
constexpr double bytes_of_factor = 4;

double nanoseconds_of(cost::Cost price) { return std::max(static_cast<double>(price) * 1e-3, 1.0); }

}  // namespace

double share_of(const cost::Kernel& kernel, cost::Cost price) {
  double share = 0;
  if (kernel.depth > 0) {
    const double tiles = kernel.batches * std::ceil(kernel.rows / cost::h200::tile_rows) *
                         std::ceil(kernel.columns / cost::h200::tile_columns);
    share = tiles / cost::h200::multiprocessors;
  } else {
    share = (kernel.bytes + kernel.weight_bytes) / bytes_of_thread / threads / cost::h200::multiprocessors;
  }
  const double nanoseconds = nanoseconds_of(price);
  const double bandwidth =
      (kernel.weight_bytes / cost::h200::weight_bandwidth + kernel.bytes / cost::h200::activation_bandwidth) /
      nanoseconds;
  return std::clamp(std::max(share, bandwidth), 1 / cost::h200::multiprocessors, 1.0);
}

double load_of(const cost::Kernel& kernel, cost::Cost price, cost::Precision precision) {
  const double products = kernel.batches * kernel.rows * kernel.columns * kernel.depth;
  const double fetched = products * (1 / cost::h200::tile_rows + 1 / cost::h200::tile_columns) * bytes_of_factor;
  const double busy = fetched / cost::h200::beside_tiles + kernel.bytes / cost::h200::beside_activations +
                      kernel.weight_bytes / cost::h200::beside_weights;
  const double shrunk = cost::stored(kernel.element, precision) == kernel.element ? 1.0 : 0.5;
  return std::clamp(busy * shrunk / nanoseconds_of(price), 1 / cost::h200::multiprocessors, 1.0);
}

}  // namespace taso::gpu
