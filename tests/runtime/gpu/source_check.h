// Compiles kernels of calls for the CPU, runs them there, and compares the results with the meaning of the calls.
#pragma once

#include <vector>

#include "ops/core/random.h"
#include "runtime/gpu/launch.h"

namespace taso::test {

struct CheckedCall {
  cost::Call call;
  std::vector<bool> is_positive;  ///< operands that must be above 0; empty if none
  gpu::SourceLaunch launch;
  std::vector<std::uint32_t> masks = {};  ///< operands of 0 and -infinity
};

/// Writes 0 and -infinity, row by row as far as rows lie one after the other.
void fill_mask(Random& random, const cost::Call::Operand& operand, std::byte* data);

/// Uses random numbers and checks that the results agree and that nothing else is written. If NVRTC is available, it
/// also compiles the kernels for a GPU.
void check_kernels(const std::vector<CheckedCall>& calls);

}  // namespace taso::test
