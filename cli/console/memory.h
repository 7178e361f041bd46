// Memory use of this process.
#pragma once

#include <cstdint>

namespace taso::cli {

/// Resident bytes now, and the peak; 0 if the system does not say.
std::uint64_t memory_in_use();
std::uint64_t peak_memory();

/// Whether a limit of the shell applies. Only asks the system, and so can be called at any time.
bool memory_is_limited();

}  // namespace taso::cli
