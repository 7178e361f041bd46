#include "cost/memory_plan.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace taso {
namespace {

std::int64_t aligned(std::int64_t size) { return (size + buffer_alignment - 1) / buffer_alignment * buffer_alignment; }

}  // namespace

std::int64_t lay_out(std::vector<Buffer>& buffers) {
  std::vector<std::size_t> order(buffers.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return buffers[a].size > buffers[b].size; });

  std::int64_t total = 0;
  std::vector<const Buffer*> placed;  // in order of their offsets
  for (const std::size_t index : order) {
    Buffer& buffer = buffers[index];
    const std::int64_t size = aligned(buffer.size);
    std::int64_t best = -1, smallest = std::numeric_limits<std::int64_t>::max(), reached = 0;
    for (const Buffer* other : placed) {
      if (other->end < buffer.begin || buffer.end < other->begin) continue;
      const std::int64_t gap = other->offset - reached;
      if (gap >= size && gap < smallest) {
        best = reached;
        smallest = gap;
      }
      reached = std::max(reached, other->offset + aligned(other->size));
    }
    buffer.offset = best >= 0 ? best : reached;
    total = std::max(total, buffer.offset + size);
    placed.insert(std::upper_bound(placed.begin(), placed.end(), &buffer,
                                   [](const Buffer* a, const Buffer* b) { return a->offset < b->offset; }),
                  &buffer);
  }
  return total;
}

}  // namespace taso
