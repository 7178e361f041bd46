// Checks that a program and the CUDA module use the same C++ types.
#pragma once

#include <cstdint>
#include <cstdio>
#include <exception>

#include "runtime/gpu/accelerator.h"

namespace taso::gpu {

/// The sizes of the types that cross the border: a different number means a different build.
inline constexpr std::uint64_t border_layout = sizeof(cost::Call) + 1000 * sizeof(Measurement) +
                                               1'000'000 * sizeof(DeviceSteps) + 1'000'000'000 * sizeof(Operator);

/// What a function at the border returns: the object made, or null with the reason in `trouble`. Never throws.
template <class Make>
void* made_at_border(std::uint64_t layout, char* trouble, std::size_t trouble_size, Make&& make) {
  const auto say = [&](const char* why) -> void* {
    std::snprintf(trouble, trouble_size, "%s", why);
    return nullptr;
  };
  if (layout != border_layout) return say("the CUDA module belongs to another build of this program");
  try {
    return make();
  } catch (const std::exception& error) {
    return say(error.what());
  } catch (...) {
    return say("the CUDA module does not start");
  }
}

}  // namespace taso::gpu
