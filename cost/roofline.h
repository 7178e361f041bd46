// Prices from what the hardware can do at best, corrected for what small kernels do not reach: for every kernel that nobody
// has measured. Only additions, multiplications, divisions and rounding up of doubles, without contraction: the same number
// on every machine.
//
// A kernel takes the least time of its kind, plus the longest of: its arithmetic in products, its other arithmetic, moving
// its bytes. More of anything never costs less, and one kernel for two of its kind never costs more than the two.
#pragma once

#include "cost/kernel.h"
#include "cost/precision.h"

namespace taso {

/// 20 ns: the model is not as good as that, and no measurement is.
inline constexpr Cost h200_noise = 20'000;

class Roofline : public KernelPrices {
 public:
  explicit Roofline(Precision precision = Precision::tf32) : precision_(precision) {}
  Cost price(const GraphView& view, const Kernel& kernel) const override;
  Cost noise() const override { return h200_noise; }
  /// The view is not looked at.
  Cost price(const Kernel& kernel) const;

 private:
  double nanoseconds_of_product(const Kernel& kernel) const;
  Precision precision_;
};

}  // namespace taso
