// A hash of one number in which every bit affects all others. It is the same on every machine.
#pragma once

#include <cstdint>

#include "ops/core/namespace.h"

namespace taso::ops {

/// The last steps of splitmix64.
constexpr std::uint64_t scramble(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

}  // namespace taso::ops
