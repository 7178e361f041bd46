// Whether a program and the CUDA module have the same C++ types.
#pragma once

#include <cstdint>

#include "runtime/gpu/accelerator.h"

namespace taso::gpu {

/// The sizes of what crosses the border: another one, another build.
inline constexpr std::uint64_t border_layout = sizeof(cost::Call) + 1000 * sizeof(Measurement) +
                                               1'000'000 * sizeof(DeviceSteps) + 1'000'000'000 * sizeof(Operator);

}  // namespace taso::gpu
