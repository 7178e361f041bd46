// How many programs were tried for an operator, and what was left of them.
#pragma once

#include <cstdint>

namespace taso::generator {

/// How many programs were left after each step.
struct MutantCounts {
  std::uint64_t operands = 0;   ///< different forms of the operands
  std::uint64_t tried = 0;      ///< programs evaluated up to the inner operator
  std::uint64_t promising = 0;  ///< those with enough of the right numbers, in any order
  std::uint64_t agreeing = 0;   ///< those with a rearrangement that puts enough of them into their places
  std::uint64_t by_chance = 0;  ///< those that do not agree at other sizes
  std::uint64_t distinct = 0;   ///< without those that differ in the order of parts only
};

}  // namespace taso::generator
