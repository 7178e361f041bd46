#pragma once

#include "ops/operators/elementwise/elementwise.h"

namespace taso::ops::op {

/// The square root of x.
struct Sqrt : Unary<Sqrt>, NoFields {
  static constexpr std::string_view name = "sqrt";
  static constexpr Traits traits{Trait::element_wise, Trait::keeps_zero, Trait::partial};
  static constexpr OnnxForm onnx{"Sqrt", 6};
  static constexpr double flops = 1;

  template <Scalar S>
  S apply(const S& x) const {
    return Math<S>::sqrt(x);
  }
  bool operator==(const Sqrt&) const = default;
};

}  // namespace taso::ops::op
