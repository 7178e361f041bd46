#pragma once

#include "ops/operators/elementwise/elementwise.h"

namespace taso::ops::op {

/// The smaller of a and b, with broadcasting.
struct Min : Binary<Min>, NoFields {
  static constexpr std::string_view name = "min";
  static constexpr Traits traits{Trait::element_wise, Trait::keeps_zero, Trait::commutes, Trait::associates,
                                 Trait::tame};
  static constexpr double flops = 1;
  template <Scalar S>
  S apply(const S& a, const S& b) const {
    return Math<S>::minimum(a, b);
  }
  bool operator==(const Min&) const = default;
};

}  // namespace taso::ops::op
