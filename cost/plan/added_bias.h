// A convolution without a bias, and behind it a vector that is added to its channels: the same work as a convolution with this
// bias, and the same kernel does it. So that a search may move biases about, both are one call and have one price.
#pragma once

#include <optional>

#include "cost/plan/kernel.h"

namespace taso::cost {

struct AddedBias {
  PlanNode add{};
  PlanValue vector{};  ///< a weight with an element for each channel, whatever its rank; nothing else here reads it
  std::int64_t channels = 0;
};

/// Of the kernel's main operator, from its main operator and nodes.
std::optional<AddedBias> added_bias(const GraphView& view, const Kernel& kernel);

}  // namespace taso::cost
