#pragma once

#include "ops/operators/elementwise/elementwise.h"

namespace taso::ops::op {

/// a b, element by element, with broadcasting.
struct Mul : Binary<Mul>, NoFields {
  static constexpr std::string_view name = "mul";
  static constexpr Traits traits{Trait::element_wise, Trait::keeps_zero, Trait::commutes, Trait::associates,
                                 Trait::tame};
  static constexpr double flops = 1;
  template <Scalar S>
  S apply(const S& a, const S& b) const {
    return a * b;
  }
  bool operator==(const Mul&) const = default;
};

}  // namespace taso::ops::op
