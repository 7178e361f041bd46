#pragma once

#include "ops/operators/elementwise/elementwise.h"

namespace taso::ops::op {

/// The hyperbolic tangent of x.
struct Tanh : Unary<Tanh>, NoFields {
  static constexpr std::string_view name = "tanh";
  static constexpr Traits traits{Trait::element_wise, Trait::keeps_zero, Trait::rising, Trait::tame};
  static constexpr OnnxForm onnx{"Tanh", 6};
  static constexpr double flops = 10;

  template <Scalar S>
  S apply(const S& x) const {
    return Math<S>::tanh(x);
  }
  bool operator==(const Tanh&) const = default;
};

}  // namespace taso::ops::op
