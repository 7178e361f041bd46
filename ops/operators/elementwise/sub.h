#pragma once

#include "ops/operators/elementwise/elementwise.h"

namespace taso::ops::op {

/// a - b, with broadcasting.
struct Sub : Binary<Sub>, NoFields {
  static constexpr std::string_view name = "sub";
  static constexpr Traits traits{Trait::element_wise, Trait::keeps_zero, Trait::linear, Trait::tame};
  static constexpr OnnxForm onnx{"Sub", 7, true};
  static constexpr double flops = 1;
  template <Scalar S>
  S apply(const S& a, const S& b) const {
    return a - b;
  }
  bool operator==(const Sub&) const = default;
};

}  // namespace taso::ops::op
