// The definition of evaluate(), for scalar types that ops/graph/evaluate_*.cpp do not instantiate.
#pragma once

#include "ops/graph/operator.h"

namespace taso::ops {

template <Scalar S>
std::vector<Tensor<S>> evaluate(const Operator& op, Tensors<S> inputs) {
  return std::visit(
      [&](const auto& o) -> std::vector<Tensor<S>> {
        check(inputs.size() >= o.min_inputs && inputs.size() <= o.max_inputs, "the number of operands is valid");
        if constexpr (requires { o.outputs; }) {
          return o.template evaluate<S>(inputs);
        } else {
          std::vector<Tensor<S>> result;
          result.push_back(o.template evaluate<S>(inputs));
          return result;
        }
      },
      op);
}

}  // namespace taso::ops
