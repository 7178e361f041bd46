#pragma once

#include "ops/operators/elementwise/elementwise.h"

namespace taso::ops::op {

/// e to the power of x.
struct Exp : Unary<Exp>, NoFields {
  static constexpr std::string_view name = "exp";
  static constexpr Traits traits{Trait::element_wise, Trait::rising};
  static constexpr OnnxForm onnx{"Exp", 6};
  static constexpr double flops = 10;

  template <Scalar S>
  S apply(const S& x) const {
    return Math<S>::exp(x);
  }
  bool operator==(const Exp&) const = default;
};

}  // namespace taso::ops::op
