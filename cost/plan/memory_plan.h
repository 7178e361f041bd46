// Where buffers lie in one arena, when it is known from when to when each is needed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace taso::cost {

struct Buffer {
  std::int64_t size = 0;
  std::size_t begin = 0, end = 0;  ///< the first and the last step that needs it
  std::int64_t offset = 0;         ///< what is planned
};

inline constexpr std::int64_t buffer_alignment = 256;

/// Gives every buffer its offset, so that no two that are needed in one step overlap, and returns the size of the arena.
/// The largest first, each into the smallest gap that holds it.
std::int64_t lay_out(std::vector<Buffer>& buffers);
/// The same where it is not a matter of the first and last step which buffers, by their indices, are needed together.
std::int64_t lay_out(std::vector<Buffer>& buffers,
                     const std::function<bool(std::size_t, std::size_t)>& are_needed_together);

}  // namespace taso::cost
