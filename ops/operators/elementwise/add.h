#pragma once

#include "ops/operators/elementwise/elementwise.h"

namespace taso::ops::op {

/// a + b, with broadcasting.
struct Add : Binary<Add>, NoFields {
  static constexpr std::string_view name = "add";
  static constexpr Traits traits{Trait::element_wise, Trait::keeps_zero, Trait::linear,
                                 Trait::commutes,     Trait::associates, Trait::tame};
  static constexpr OnnxForm onnx{"Add", 7, true};
  static constexpr double flops = 1;
  template <Scalar S>
  S apply(const S& a, const S& b) const {
    return a + b;
  }
  bool operator==(const Add&) const = default;
};

}  // namespace taso::ops::op
