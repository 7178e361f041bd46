#pragma once

#include "ops/operators/elementwise/elementwise.h"

namespace taso::ops::op {

/// x min(max(x/6 + 1/2, 0), 1).
struct HardSwish : Unary<HardSwish>, NoFields {
  static constexpr std::string_view name = "hard_swish";
  static constexpr Traits traits{Trait::element_wise, Trait::keeps_zero, Trait::tame};
  static constexpr double flops = 5;

  template <Scalar S>
  S apply(const S& x) const {
    const S slope = Math<S>::divide(x, Math<S>::constant(6)) + Math<S>::constant(0.5);
    return x * Math<S>::minimum(Math<S>::maximum(slope, Math<S>::constant(0)), Math<S>::constant(1));
  }
  bool operator==(const HardSwish&) const = default;
};

}  // namespace taso::ops::op
