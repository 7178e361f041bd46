// How much memory this process holds.
#pragma once

#include <cstdint>

namespace taso::cli {

/// Bytes that are in memory now, and the most there ever were; 0 where the system does not say.
std::uint64_t memory_in_use();
std::uint64_t peak_memory();

}  // namespace taso::cli
