#include "cost/memory_plan.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace taso {
namespace {

std::int64_t aligned(std::int64_t size) { return (size + buffer_alignment - 1) / buffer_alignment * buffer_alignment; }

}  // namespace

std::int64_t lay_out(std::vector<Buffer>& buffers) {
  return lay_out(buffers, [&](std::size_t a, std::size_t b) {
    return buffers[a].begin <= buffers[b].end && buffers[b].begin <= buffers[a].end;
  });
}

std::int64_t lay_out(std::vector<Buffer>& buffers,
                     const std::function<bool(std::size_t, std::size_t)>& are_needed_together) {
  std::vector<std::size_t> order(buffers.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return buffers[a].size > buffers[b].size; });

  std::int64_t total = 0;
  std::vector<std::size_t> placed;  // in order of their offsets
  for (const std::size_t index : order) {
    Buffer& buffer = buffers[index];
    const std::int64_t size = aligned(buffer.size);
    std::int64_t best = -1, smallest = std::numeric_limits<std::int64_t>::max(), reached = 0;
    for (const std::size_t other : placed) {
      if (!are_needed_together(index, other)) continue;
      const std::int64_t gap = buffers[other].offset - reached;
      if (gap >= size && gap < smallest) {
        best = reached;
        smallest = gap;
      }
      reached = std::max(reached, buffers[other].offset + aligned(buffers[other].size));
    }
    buffer.offset = best >= 0 ? best : reached;
    total = std::max(total, buffer.offset + size);
    placed.insert(std::upper_bound(placed.begin(), placed.end(), index,
                                   [&](std::size_t a, std::size_t b) { return buffers[a].offset < buffers[b].offset; }),
                  index);
  }
  return total;
}

}  // namespace taso
