// Which steps of a program have to wait for which, because of what they read and write.
#pragma once

#include <vector>

#include "runtime/gpu/accelerator.h"
#include "runtime/gpu/footprint.h"

namespace taso::gpu {

struct Access {
  Binding::Place place = Binding::Place::arena;
  std::uint32_t index = 0;
  Footprint what;
  bool is_write = false;
};
/// Everything that a step reads and writes. A copy touches its pieces alone, not all of what it takes them from or puts them
/// into.
std::vector<Access> accesses_of(const DeviceSteps::Step& step);

/// For each step those before it that have to be done first: one of the two writes what the other reads or writes. The arena
/// has to be in parts still: steps that are bound to different indices of it have nothing to do with one another. Who waits
/// for a step need not wait for those that this one waits for; they may be listed or not.
std::vector<std::vector<std::uint32_t>> needs_of(const std::vector<DeviceSteps::Step>& steps);

}  // namespace taso::gpu
