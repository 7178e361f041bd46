#include "cost/plan/memory_plan.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace taso::cost {
namespace {

/// The offset of the smallest gap between the `near` buffers (sorted by offset) that is large enough, or the end.
std::int64_t offset_among(const std::vector<Buffer>& buffers, const Buffer& buffer,
                          const std::vector<std::size_t>& near) {
  const std::int64_t size = aligned_size(buffer.size);
  std::int64_t best = -1, smallest = std::numeric_limits<std::int64_t>::max(), reached = 0;
  for (const std::size_t other : near) {
    const std::int64_t gap = buffers[other].offset - reached;
    if (gap >= size && gap < smallest) {
      best = reached;
      smallest = gap;
    }
    reached = std::max(reached, buffers[other].offset + aligned_size(buffers[other].size));
  }
  return best >= 0 ? best : reached;
}

}  // namespace

std::int64_t lay_out(std::vector<Buffer>& buffers) {
  const auto are_needed_together = [&](std::size_t a, std::size_t b) {
    return buffers[a].begin <= buffers[b].end && buffers[b].begin <= buffers[a].end;
  };
  constexpr std::size_t few = 256;
  if (buffers.size() <= few) return lay_out(buffers, are_needed_together);

  // The same, but compares only with buffers near in time. Buffers are listed by ranges of 16 steps; buffers needed in
  // many ranges are in one list.
  std::size_t last = 0;
  for (const Buffer& buffer : buffers) last = std::max(last, buffer.end);
  constexpr std::size_t stretch = 16, most_stretches = 64;
  std::vector<std::vector<std::size_t>> by_time(last / stretch + 1);
  std::vector<std::size_t> throughout;
  std::vector<std::size_t> order(buffers.size()), when_placed(buffers.size(), 0);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return buffers[a].size > buffers[b].size; });
  // If very many buffers are needed for long, they are placed after all others without sharing: few of them could share
  // memory.
  constexpr std::size_t very_many = 2000;
  const auto lasts = [&](const Buffer& buffer) {
    return buffer.end / stretch - buffer.begin / stretch >= most_stretches;
  };
  const bool are_apart = std::count_if(buffers.begin(), buffers.end(), lasts) > static_cast<std::ptrdiff_t>(very_many);
  std::int64_t total = 0;
  std::vector<std::size_t> near, seen_by(buffers.size(), buffers.size());
  for (std::size_t place = 0; place < order.size(); ++place) {
    const std::size_t index = order[place];
    Buffer& buffer = buffers[index];
    if (are_apart && lasts(buffer)) continue;
    const std::size_t first_stretch = buffer.begin / stretch, last_stretch = buffer.end / stretch;
    near.clear();
    const auto add = [&](std::size_t other) {
      if (seen_by[other] == index || !are_needed_together(index, other)) return;
      seen_by[other] = index;
      near.push_back(other);
    };
    for (std::size_t i = first_stretch; i <= last_stretch; ++i)
      for (const std::size_t other : by_time[i]) add(other);
    for (const std::size_t other : throughout) add(other);
    std::sort(near.begin(), near.end(), [&](std::size_t a, std::size_t b) {
      return std::pair(buffers[a].offset, when_placed[a]) < std::pair(buffers[b].offset, when_placed[b]);
    });
    buffer.offset = offset_among(buffers, buffer, near);
    total = std::max(total, buffer.offset + aligned_size(buffer.size));
    when_placed[index] = place;
    if (lasts(buffer))
      throughout.push_back(index);
    else
      for (std::size_t i = first_stretch; i <= last_stretch; ++i) by_time[i].push_back(index);
  }
  for (Buffer& buffer : buffers) {
    if (!are_apart || !lasts(buffer)) continue;
    buffer.offset = total;
    total += aligned_size(buffer.size);
  }
  return total;
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
    std::vector<std::size_t> near;
    for (const std::size_t other : placed)
      if (are_needed_together(index, other)) near.push_back(other);
    buffer.offset = offset_among(buffers, buffer, near);
    total = std::max(total, buffer.offset + aligned_size(buffer.size));
    placed.insert(std::upper_bound(placed.begin(), placed.end(), index,
                                   [&](std::size_t a, std::size_t b) { return buffers[a].offset < buffers[b].offset; }),
                  index);
  }
  return total;
}

}  // namespace taso::cost
