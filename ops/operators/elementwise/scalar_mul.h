#pragma once

#include <algorithm>

#include "ops/operators/elementwise/elementwise.h"

namespace taso::ops::op {

/// A tensor times a scalar: the second operand has a single element and no higher rank than the first.
struct ScalarMul : Binary<ScalarMul>, NoFields {
  static constexpr std::string_view name = "scalar_mul";
  static constexpr Traits traits{Trait::tame};
  static constexpr KernelRole role = KernelRole::element_wise;
  static constexpr double flops = 1;

  Shape infer(std::span<const Shape> in, Fit& fit) const {
    const auto message = [&] { return "factor " + text_of(in[1]) + " is not a single element for " + text_of(in[0]); };
    fit.need(in[1].size() <= in[0].size(), message);
    for (const Dim& dim : in[1]) fit.equal(dim, 1, message);
    return in[0];
  }
  template <Scalar S>
  S apply(const S& x, const S& factor) const {
    return x * factor;
  }
  bool operator==(const ScalarMul&) const = default;
};

}  // namespace taso::ops::op
