#include "runtime/onnxruntime/partition.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace taso::onnxruntime {

std::vector<std::vector<std::size_t>> partition(const std::vector<std::vector<std::size_t>>& needs,
                                                const std::vector<bool>& is_supported) {
  const std::size_t count = needs.size();
  if (std::find(is_supported.begin(), is_supported.end(), false) == is_supported.end()) {
    if (count == 0) return {};
    std::vector<std::size_t> all(count);
    std::iota(all.begin(), all.end(), std::size_t{0});
    return {all};
  }
  // A level is how often the longest path to a node changes between supported and unsupported nodes. A path that leaves
  // a level never comes back to it, so that the nodes of one level can be fused.
  std::vector<std::size_t> level(count), leader(count);
  std::iota(leader.begin(), leader.end(), std::size_t{0});
  const auto leader_of = [&](std::size_t node) {
    while (leader[node] != node) node = leader[node] = leader[leader[node]];
    return node;
  };
  for (std::size_t i = 0; i < count; ++i)
    for (const std::size_t need : needs[i])
      level[i] = std::max(level[i], level[need] + (is_supported[i] != is_supported[need] ? 1 : 0));
  for (std::size_t i = 0; i < count; ++i)
    for (const std::size_t need : needs[i])
      if (is_supported[i] && is_supported[need] && level[i] == level[need]) leader[leader_of(i)] = leader_of(need);
  std::map<std::size_t, std::vector<std::size_t>> parts;
  for (std::size_t i = 0; i < count; ++i)
    if (is_supported[i]) parts[leader_of(i)].push_back(i);
  std::vector<std::vector<std::size_t>> all;
  all.reserve(parts.size());
  for (auto& [first, nodes] : parts) all.push_back(std::move(nodes));
  return all;
}

}  // namespace taso::onnxruntime
