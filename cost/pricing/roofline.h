// Predicts prices of unmeasured kernels from their work, with constants fitted to measured kernels
// (cost/pricing/h200.h). Uses only additions, multiplications, divisions and rounding up of doubles, without
// contraction, so that the result is the same on every machine.
//
// The time of a kernel is the sum of the least time of its kind; the longest of its product, its other arithmetic and
// the transfer of its activations; the dependency chain of one element; and the wait for its weights. A product is cut
// into tiles, and its depth among several blocks, in the best of ten ways; each multiprocessor does its share of the
// blocks. More work never costs less, and one kernel never costs more than two of its kind that do the same work, as
// long as they fit into the cache (except for 3 % if tiles fit the two better).
#pragma once

#include "cost/plan/kernel.h"
#include "cost/pricing/h200.h"
#include "cost/pricing/precision.h"

namespace taso::cost {

/// 20 ns. Neither the model nor a measurement is more accurate.
inline constexpr Cost h200_noise = 20'000;

/// The fitted constants; see cost/pricing/h200.h.
struct RooflineConstants {
  double least_convolution = h200::least_convolution;
  double least_channels_first = h200::least_channels_first;
  double least_direct = h200::least_direct;
  double least_matmul = h200::least_matmul;
  double least_element_wise = h200::least_element_wise;
  double least_pooling = h200::least_pooling;
  double least_rows = h200::least_rows;
  double least_copy = h200::least_copy;
  double slab_wait = h200::slab_wait;
  double meeting = h200::meeting;
  double tile_bandwidth = h200::tile_bandwidth;
  double result_bandwidth = h200::result_bandwidth;
  double channels_first = h200::channels_first;
  double few_channels = h200::few_channels;
  double unrounded = h200::unrounded;
  double direct_operations = h200::direct_operations;
  double direct_wait = h200::direct_wait;
  double weight_wait = h200::weight_wait;
  double weight_rate = h200::weight_rate;
  double activation_rate = h200::activation_rate;
  double operations = h200::operations;
  double chain_wait = h200::chain_wait;
};

class Roofline : public KernelPrices {
 public:
  explicit Roofline(Precision precision = Precision::tf32, const RooflineConstants& constants = {})
      : precision_(precision), constants_(constants) {}
  Cost price(const GraphView& view, const Kernel& kernel) const override;
  Cost least(const GraphView& view, const Kernel& kernel) const override;
  Cost noise() const override { return h200_noise; }
  /// The same without looking at the graph: an opaque kernel counts as one that runs on the host.
  Cost price(const Kernel& kernel) const { return price(kernel, kernel.kind); }
  /// Says whether weights are in the cache. Not thread-safe against readers.
  void set_warm(bool is_warm) { is_warm_ = is_warm; }

 private:
  Cost price(const Kernel& kernel, Kernel::Kind kind) const;
  double nanoseconds_of_kind(const Kernel& kernel, Kernel::Kind kind, double other) const;
  double nanoseconds_of_activations(double bytes) const;
  double nanoseconds_of_tiles(const Kernel& kernel) const;

  Precision precision_;
  RooflineConstants constants_;
  bool is_warm_ = false;
};

/// What a kernel surely works if the operator of this one, alone in it, does the work in that one. What is fused adds
/// bytes, weights and operations. But a reduction or an element-wise kernel may read less than its last operator does:
/// all that is certain is what it writes.
Kernel least_work(const GraphView& view, const Kernel& kernel);

}  // namespace taso::cost
