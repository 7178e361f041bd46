// What is minimised, and the units that people know it in.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cost/plan/kernel.h"

namespace taso::cost {

enum class Objective {
  time,      ///< predicted seconds
  memory,    ///< bytes that activations take at most at a time
  launches,  ///< kernels
};

/// "time", "memory" or "launches"; nothing for any other name.
std::optional<Objective> objective_named(std::string_view name);
std::string_view name_of(Objective objective);

/// A sum of such prices in the unit that people know: seconds, bytes, kernels.
double in_units(Objective objective, Cost cost);
/// "1.234 ms", "12.3 MB", "17 kernels"
std::string text_of_cost(Objective objective, double cost);
std::string text_of_seconds(double seconds);

}  // namespace taso::cost
