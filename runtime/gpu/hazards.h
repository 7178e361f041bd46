// Finds which steps of a program have to wait for which, from what they read and write.
#pragma once

#include <vector>

#include "runtime/gpu/accelerator.h"
#include "runtime/gpu/footprint.h"

namespace taso::gpu {

struct MemoryAccess {
  Binding::Place place = Binding::Place::arena;
  std::uint32_t index = 0;
  Footprint what;
  bool is_write = false;
};
/// Everything that a step reads and writes. A copy touches only its pieces, not the whole operands.
std::vector<MemoryAccess> accesses_of(const DeviceSteps::Step& step);

/// For each step, the earlier steps that have to finish first, because one of the two writes what the other reads or
/// writes. The arena must not be laid out yet: different indices in it are different memory. Indirect dependencies may
/// be listed or not. Memory that is an input and an output counts as one.
std::vector<std::vector<std::uint32_t>> needs_of(const std::vector<DeviceSteps::Step>& steps,
                                                 const std::vector<DeviceSteps::InPlace>& in_place = {});

/// The inputs and outputs that may be the same memory: a step writes elements over a copy of the input, which is not
/// necessary then. It is the last step that reads the input, and the only one that writes the output.
std::vector<DeviceSteps::InPlace> in_place_of(const DeviceSteps& steps);

}  // namespace taso::gpu
