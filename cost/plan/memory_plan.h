// Places buffers in one arena, given the steps during which each is needed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace taso::cost {

struct Buffer {
  std::int64_t size = 0;
  std::size_t begin = 0, end = 0;  ///< the first and the last step that needs it
  std::int64_t offset = 0;         ///< the result
};

inline constexpr std::int64_t buffer_alignment = 256;
constexpr std::int64_t aligned_size(std::int64_t bytes) {
  return (bytes + buffer_alignment - 1) / buffer_alignment * buffer_alignment;
}

/// Sets the offset of every buffer, so that buffers needed in the same step do not overlap, and returns the size of the
/// arena. Places the largest buffer first, each into the smallest gap that holds it.
std::int64_t lay_out(std::vector<Buffer>& buffers);
/// The same with a predicate that tells, by index, which two buffers are needed at the same time.
std::int64_t lay_out(std::vector<Buffer>& buffers,
                     const std::function<bool(std::size_t, std::size_t)>& are_needed_together);

}  // namespace taso::cost
