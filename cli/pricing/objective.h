// What a model is to have less of.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "cost/plan/kernel.h"

namespace taso::cli {

enum class Objective {
  time,      ///< predicted seconds
  memory,    ///< bytes that activations take at most at a time
  launches,  ///< kernels
};

/// "time", "memory" or "launches". Throws UsageError.
Objective objective_named(const std::string& name);
std::string_view name_of(Objective objective);

/// A sum of such prices in the unit that people know: seconds, bytes, kernels.
double in_units(Objective objective, cost::Cost cost);
/// "1.234 ms", "12.3 MB", "17 kernels"
std::string text_of_cost(Objective objective, double cost);
std::string text_of_seconds(double seconds);

}  // namespace taso::cli
