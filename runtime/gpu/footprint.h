// Which elements of a piece of memory somebody reads or writes, so that it can be told who has to wait for whom.
#pragma once

#include <cstdint>

#include "cost/plan/movement.h"

namespace taso::gpu {

/// A tensor that lies somewhere in a memory.
struct Footprint {
  std::int64_t offset = 0;  ///< of the first element, in bytes
  std::int64_t size = 1;    ///< of an element, in bytes
  Extents extents;
  cost::Strides strides;  ///< in elements, none below 0
};

/// Bytes from the first to behind the last element; 0 if there is none.
std::int64_t length_of(const Footprint& one);

/// Whether two tensors of one memory may have bytes in common. What lies between the elements of a tensor is no part of it:
/// channels side by side that belong to different tensors are told apart. May say yes where a closer look would say no.
bool may_overlap(const Footprint& a, const Footprint& b);

}  // namespace taso::gpu
