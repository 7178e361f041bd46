// Prices of kernels that nobody has measured, from what a kernel has to do and constants that were fitted to others that were
// (cost/pricing/h200.h). Only additions, multiplications, divisions and rounding up of doubles, without contraction:
// the same number on every machine.
//
// A kernel takes the least time of its kind; the longest of its product, its other arithmetic and moving its activations; the
// time for what is done to an element one thing after the other; and what it waits for its weights. A product is cut into tiles,
// and its depth among several blocks, in the best one of ten ways; each multiprocessor does its share of the blocks. More of
// anything never costs less, and one kernel for two of its kind never more than the two, as long as they fit into the cache (but
// for 3 %, if tiles fit the two better).
#pragma once

#include "cost/plan/kernel.h"
#include "cost/pricing/h200.h"
#include "cost/pricing/precision.h"

namespace taso::cost {

/// 20 ns: the model is not as good as that, and no measurement is.
inline constexpr Cost h200_noise = 20'000;

/// Those that are fitted; see cost/pricing/h200.h.
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
  Cost noise() const override { return h200_noise; }
  /// The same without looking at the graph: an opaque kernel is one that the host has to do.
  Cost price(const Kernel& kernel) const { return price(kernel, kernel.kind); }
  /// From now on weights are in the cache, or no longer. Not while others ask.
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

}  // namespace taso::cost
