// Kernels for calls, compiled for the CPU and run there, compared with what the calls mean.
#pragma once

#include <vector>

#include "runtime/gpu/launch.h"

namespace taso::test {

struct CheckedCall {
  cost::Call call;
  std::vector<bool> is_positive;  ///< operands that must be above 0; none need to be if it is empty
  gpu::SourceLaunch launch;
};

/// On random numbers: the same results, and nothing written beside them. Where NVRTC is there, they are compiled for a GPU, too.
void check_kernels(const std::vector<CheckedCall>& calls);

}  // namespace taso::test
