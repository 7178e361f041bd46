// What a model is to have less of.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "cost/kernel.h"

namespace taso {

enum class Objective {
  time,      ///< predicted seconds
  memory,    ///< bytes that activations take at most at a time
  launches,  ///< kernels
};

/// "time", "memory" or "launches". Throws UsageError.
Objective objective_named(const std::string& name);
std::string_view name_of(Objective objective);

/// What the search adds up. The memory that is needed at a time is no sum: bytes that are written stand in for it, and the
/// search's result has to be looked at again.
std::unique_ptr<KernelPrices> prices_for(Objective objective);
/// A sum of such prices in the unit that people know: seconds, bytes, kernels.
double in_units(Objective objective, Cost cost);
/// "1.234 ms", "12.3 MB", "17 kernels"
std::string text_of_cost(Objective objective, double cost);
std::string text_of_seconds(double seconds);

}  // namespace taso
