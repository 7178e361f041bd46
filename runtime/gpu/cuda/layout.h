// Checks that a program and the CUDA module use the same C++ types.
#pragma once

#include <cstdint>

#include "runtime/gpu/accelerator.h"

namespace taso::gpu {

/// The sizes of the types that cross the border: a different number means a different build.
inline constexpr std::uint64_t border_layout = sizeof(cost::Call) + 1000 * sizeof(Measurement) +
                                               1'000'000 * sizeof(DeviceSteps) + 1'000'000'000 * sizeof(Operator);

}  // namespace taso::gpu
