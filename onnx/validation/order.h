// A topological order that stays as close as possible to the given one.
#pragma once

#include <cstddef>
#include <vector>

namespace taso::onnx {

struct StableOrder {
  std::vector<std::size_t>
      order;  ///< all items, each after what it needs; of those that are ready, the first comes first
  std::vector<std::size_t> cycle;  ///< if there is no such order: items of a cycle, each of which needs the next
};

/// `needs[i]` lists what must come before `i`.
StableOrder stable_order(const std::vector<std::vector<std::size_t>>& needs);

}  // namespace taso::onnx
