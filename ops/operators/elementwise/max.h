#pragma once

#include "ops/operators/elementwise/elementwise.h"

namespace taso::ops::op {

/// The larger of a and b, with broadcasting.
struct Max : Binary<Max>, NoFields {
  static constexpr std::string_view name = "max";
  static constexpr Traits traits{Trait::element_wise, Trait::keeps_zero, Trait::commutes, Trait::associates,
                                 Trait::tame};
  static constexpr double flops = 1;
  template <Scalar S>
  S apply(const S& a, const S& b) const {
    return Math<S>::maximum(a, b);
  }
  bool operator==(const Max&) const = default;
};

}  // namespace taso::ops::op
