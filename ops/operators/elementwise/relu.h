#pragma once

#include "ops/operators/elementwise/elementwise.h"

namespace taso::ops::op {

/// max(x, 0).
struct Relu : Unary<Relu>, NoFields {
  static constexpr std::string_view name = "relu";
  static constexpr Traits traits{Trait::element_wise, Trait::keeps_zero, Trait::rising, Trait::tame};
  static constexpr OnnxForm onnx{"Relu", 6, true};
  static constexpr double flops = 1;

  template <Scalar S>
  S apply(const S& x) const {
    return Math<S>::maximum(x, Math<S>::constant(0));
  }
  bool operator==(const Relu&) const = default;
};

}  // namespace taso::ops::op
