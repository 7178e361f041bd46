#pragma once

#include "ops/operators/elementwise/elementwise.h"

namespace taso::ops::op {

/// The error function of x.
struct Erf : Unary<Erf>, NoFields {
  static constexpr std::string_view name = "erf";
  static constexpr Traits traits{Trait::element_wise, Trait::keeps_zero, Trait::rising, Trait::tame};
  static constexpr OnnxForm onnx{"Erf", 9};
  static constexpr double flops = 10;

  template <Scalar S>
  S apply(const S& x) const {
    return Math<S>::erf(x);
  }
  bool operator==(const Erf&) const = default;
};

}  // namespace taso::ops::op
