// The elements of memory that a step reads or writes, to decide which steps have to wait for which.
#pragma once

#include <cstdint>

#include "cost/plan/movement.h"

namespace taso::gpu {

/// A tensor in memory.
struct Footprint {
  std::int64_t offset = 0;  ///< of the first element, in bytes
  std::int64_t size = 1;    ///< of an element, in bytes
  Extents extents;
  cost::Strides strides;  ///< in elements, not negative
};

/// The bytes from the start of the first element to the end of the last; 0 if there is none.
std::int64_t length_of(const Footprint& one);

/// Whether two tensors in the same memory may share bytes. Gaps between the elements of a tensor do not belong to it:
/// the interleaved channels of different tensors are distinguished. May return true where a closer look would not.
bool may_overlap(const Footprint& a, const Footprint& b);

}  // namespace taso::gpu
