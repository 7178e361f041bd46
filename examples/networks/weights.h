// Numbers for the parameters of a network: drawn from a seed and the parameter's name, the same on every machine, and as
// fast as the memory that they go to.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "ops/core/element_type.h"

namespace taso::examples {

/// How the elements of a parameter are distributed: bell-shaped, and never further than 3.5 deviations from the mean.
struct Spread {
  double mean = 0;
  double deviation = 1;
  /// The elements in runs of so many, each run moved towards having exactly that mean; 0: none is.
  std::size_t run = 0;
  double balance = 1;  ///< by how much of the way
};

/// The bytes of `count` elements, in the order and form that ONNX wants. A parameter's numbers depend on nothing but the
/// arguments, so that adding a layer to a network leaves the others as they were.
std::string seeded_bytes(ElementType type, std::size_t count, const Spread& spread, std::uint64_t seed,
                         std::string_view name);

}  // namespace taso::examples
