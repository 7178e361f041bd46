// Memory use of this process.
#pragma once

#include <cstdint>

namespace taso::cli {

/// Resident bytes now, and the peak; 0 if the system does not say.
std::uint64_t memory_in_use();
std::uint64_t peak_memory();

}  // namespace taso::cli
