// Compiles kernels of calls for the CPU, runs them there, and compares the results with the meaning of the calls.
#pragma once

#include <vector>

#include "runtime/gpu/launch.h"

namespace taso::test {

struct CheckedCall {
  cost::Call call;
  std::vector<bool> is_positive;  ///< operands that must be above 0; empty if none
  gpu::SourceLaunch launch;
};

/// Uses random numbers and checks that the results agree and that nothing else is written. If NVRTC is available, it
/// also compiles the kernels for a GPU.
void check_kernels(const std::vector<CheckedCall>& calls);

}  // namespace taso::test
