// A convolution without a bias, followed by an add of one number per channel. It is the same work as a convolution with
// that bias, and the same kernel does it. Both forms are one call with one price, so that a search may move biases
// about.
#pragma once

#include <optional>

#include "cost/plan/kernel.h"

namespace taso::cost {

struct AddedBias {
  PlanNode add{};
  PlanValue vector{};  ///< a weight with one element per channel, of any rank; nothing else in this kernel reads it
  std::int64_t channels = 0;
};

/// Finds the added bias of a kernel from its main operator and its nodes.
std::optional<AddedBias> added_bias(const GraphView& view, const Kernel& kernel);

}  // namespace taso::cost
