#pragma once

#include "ops/operators/elementwise/elementwise.h"

namespace taso::ops::op {

/// x / (1 + exp(-x)), also called swish.
struct Silu : Unary<Silu>, NoFields {
  static constexpr std::string_view name = "silu";
  static constexpr Traits traits{Trait::element_wise, Trait::keeps_zero, Trait::tame};
  static constexpr double flops = 13;

  template <Scalar S>
  S apply(const S& x) const {
    return Math<S>::divide(x, Math<S>::constant(1) + Math<S>::exp(Math<S>::constant(0) - x));
  }
  bool operator==(const Silu&) const = default;
};

}  // namespace taso::ops::op
