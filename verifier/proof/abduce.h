// Finds the condition under which a rule that is false as it stands is true.
#pragma once

#include <functional>
#include <vector>

#include "rules/egraph/property.h"
#include "rules/instance/assignment.h"

namespace taso {

/// Sets of conditions that leave out every sampled point at which the rule fails and keep one at which it holds, the
/// weakest first: those that keep most.
std::vector<std::vector<Condition>> conceivable_conditions(const Rule& rule, const std::vector<Instance>& instances,
                                                           const Properties& properties, std::uint64_t seed);

}  // namespace taso
