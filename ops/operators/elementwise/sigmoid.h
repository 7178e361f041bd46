#pragma once

#include "ops/operators/elementwise/elementwise.h"

namespace taso::ops::op {

/// 1 / (1 + exp(-x)).
struct Sigmoid : Unary<Sigmoid>, NoFields {
  static constexpr std::string_view name = "sigmoid";
  static constexpr Traits traits{Trait::element_wise, Trait::rising, Trait::tame};
  static constexpr OnnxForm onnx{"Sigmoid", 6};
  static constexpr double flops = 12;

  template <Scalar S>
  S apply(const S& x) const {
    const S one = Math<S>::constant(1);
    return Math<S>::divide(one, one + Math<S>::exp(Math<S>::constant(0) - x));
  }
  bool operator==(const Sigmoid&) const = default;
};

}  // namespace taso::ops::op
