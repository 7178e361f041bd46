// An order in which things can be done, as close to the given one as it gets.
#pragma once

#include <cstddef>
#include <vector>

namespace taso::onnx {

struct StableOrder {
  std::vector<std::size_t>
      order;  ///< all of them, each after what it needs; of those that are free, the first comes first
  std::vector<std::size_t>
      cycle;  ///< if there is no such order: some that need each other in a ring, each the next one
};

/// `needs[i]` lists what has to come before `i`.
StableOrder stable_order(const std::vector<std::vector<std::size_t>>& needs);

}  // namespace taso::onnx
