#pragma once

#include "ops/operators/elementwise/elementwise.h"

namespace taso::ops::op {

/// a to the power of b, with broadcasting.
struct Pow : Binary<Pow>, NoFields {
  static constexpr std::string_view name = "pow";
  static constexpr Traits traits{Trait::element_wise, Trait::partial};
  static constexpr OnnxForm onnx{"Pow", 7};
  static constexpr double flops = 10;
  template <Scalar S>
  S apply(const S& a, const S& b) const {
    return Math<S>::pow(a, b);
  }
  bool operator==(const Pow&) const = default;
};

}  // namespace taso::ops::op
