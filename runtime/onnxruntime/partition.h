// Which nodes become one node: parts of a graph that can be fused without making a cycle.
#pragma once

#include <cstddef>
#include <vector>

namespace taso::onnxruntime {

/// The parts that consist of supported nodes; all nodes, if all are supported. Nodes are in topological order, and
/// `needs[i]` lists the nodes before `i` that it reads from. No path between two nodes of a part leaves it, and no two
/// parts need one another.
std::vector<std::vector<std::size_t>> partition(const std::vector<std::vector<std::size_t>>& needs,
                                                const std::vector<bool>& is_supported);

}  // namespace taso::onnxruntime
