#include "onnx/validation/order.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>

namespace taso::onnx {
namespace {

bool in_order(const std::vector<std::vector<std::size_t>>& needs) {
  for (std::size_t i = 0; i < needs.size(); ++i)
    if (std::any_of(needs[i].begin(), needs[i].end(), [&](std::size_t need) { return need >= i; })) return false;
  return true;
}

/// Follows needs among the items that never became ready until one repeats.
std::vector<std::size_t> find_cycle(const std::vector<std::vector<std::size_t>>& needs,
                                    const std::vector<std::size_t>& waiting) {
  const auto stuck = std::find_if(waiting.begin(), waiting.end(), [](std::size_t count) { return count > 0; });
  auto current = static_cast<std::size_t>(stuck - waiting.begin());
  std::vector<std::size_t> path;
  std::vector<bool> seen(needs.size(), false);
  while (!seen[current]) {
    seen[current] = true;
    path.push_back(current);
    current = *std::find_if(needs[current].begin(), needs[current].end(),
                            [&](std::size_t need) { return waiting[need] > 0; });
  }
  path.erase(path.begin(), std::find(path.begin(), path.end(), current));
  return path;
}

}  // namespace

StableOrder stable_order(const std::vector<std::vector<std::size_t>>& needs) {
  const std::size_t count = needs.size();
  StableOrder result;
  if (in_order(needs)) {
    result.order.resize(count);
    std::iota(result.order.begin(), result.order.end(), std::size_t{0});
    return result;
  }
  std::vector<std::vector<std::size_t>> needed_by(count);
  std::vector<std::size_t> waiting(count, 0);
  for (std::size_t i = 0; i < count; ++i) {
    waiting[i] = needs[i].size();
    for (const std::size_t need : needs[i]) needed_by[need].push_back(i);
  }
  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> free;
  for (std::size_t i = 0; i < count; ++i)
    if (waiting[i] == 0) free.push(i);
  while (!free.empty()) {
    const std::size_t next = free.top();
    free.pop();
    result.order.push_back(next);
    for (const std::size_t user : needed_by[next])
      if (--waiting[user] == 0) free.push(user);
  }
  if (result.order.size() < count) result.cycle = find_cycle(needs, waiting);
  return result;
}

}  // namespace taso::onnx
