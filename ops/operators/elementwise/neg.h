#pragma once

#include "ops/operators/elementwise/elementwise.h"

namespace taso::ops::op {

/// -x.
struct Neg : Unary<Neg>, NoFields {
  static constexpr std::string_view name = "neg";
  static constexpr Traits traits{Trait::element_wise, Trait::keeps_zero, Trait::tame};
  static constexpr OnnxForm onnx{"Neg", 6, true};
  static constexpr double flops = 1;

  template <Scalar S>
  S apply(const S& x) const {
    return Math<S>::constant(-1) * x;  // and not 0 - x, which has no negative zero
  }
  bool operator==(const Neg&) const = default;
};

}  // namespace taso::ops::op
