#pragma once

#include "ops/operators/elementwise/elementwise.h"

namespace taso::ops::op {

/// 1 / x.
struct Reciprocal : Unary<Reciprocal>, NoFields {
  static constexpr std::string_view name = "reciprocal";
  static constexpr Traits traits{Trait::element_wise, Trait::partial};
  static constexpr OnnxForm onnx{"Reciprocal", 6};
  static constexpr double flops = 1;

  template <Scalar S>
  S apply(const S& x) const {
    return Math<S>::divide(Math<S>::constant(1), x);
  }
  bool operator==(const Reciprocal&) const = default;
};

}  // namespace taso::ops::op
