// Memory that a thread keeps between calls, so that large temporary buffers are not allocated again and again.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <string>

#include "ops/core/error.h"

namespace taso::runtime::kernels {

/// Uninitialised memory for `count` elements, valid until the calling thread asks again for the same T and Purpose.
template <class T, int Purpose = 0>
T* scratch(std::size_t count) {
  struct Room {
    std::size_t count = 0;
    std::unique_ptr<T[]> data;
  };
  thread_local Room room;
  if (room.count < count) {
    room.data.reset();
    room.count = 0;
    room.data.reset(new (std::nothrow) T[count]);
    if (!room.data) throw EnvironmentError("not enough memory for a buffer of " + std::to_string(count) + " elements");
    room.count = count;
  }
  return room.data.get();
}

}  // namespace taso::runtime::kernels
