// Random numbers for the parameters of a network. They depend only on the seed and the parameter's name, are the same
// on every machine, and are generated at the speed of memory.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "ops/core/element_type.h"

namespace taso::examples {

/// The distribution of a parameter's elements: bell-shaped, at most 3.5 deviations from the mean.
struct Spread {
  double mean = 0;
  double deviation = 1;
  /// If not 0, the elements form runs of this length, and each run is shifted towards having exactly that mean.
  std::size_t run = 0;
  double balance = 1;  ///< how far it is shifted: 0 not at all, 1 all the way
};

/// The bytes of `count` elements in ONNX's order and form. They depend only on the arguments, so that adding a layer to
/// a network keeps the parameters of the others.
std::string seeded_bytes(ElementType type, std::size_t count, const Spread& spread, std::uint64_t seed,
                         std::string_view name);

}  // namespace taso::examples
