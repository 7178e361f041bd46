#pragma once

#include "ops/operators/elementwise/elementwise.h"

namespace taso::ops::op {

/// a / b, with broadcasting; integers are divided towards zero.
struct Div : Binary<Div>, NoFields {
  static constexpr std::string_view name = "div";
  static constexpr Traits traits{Trait::element_wise, Trait::partial};
  static constexpr OnnxForm onnx{"Div", 7, true};
  static constexpr double flops = 1;
  template <Scalar S>
  S apply(const S& a, const S& b) const {
    return Math<S>::divide(a, b);
  }
  bool operator==(const Div&) const = default;
};

}  // namespace taso::ops::op
