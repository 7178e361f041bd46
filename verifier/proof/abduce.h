// Finds the condition under which a false rule is true.
#pragma once

#include <functional>
#include <vector>

#include "rules/egraph/property.h"
#include "rules/instance/assignment.h"

namespace taso::verifier {

/// Sets of conditions that exclude every sampled point at which the rule fails and keep one at which it holds; the
/// weakest first, that is, those that keep most.
std::vector<std::vector<rules::Condition>> conceivable_conditions(const rules::Rule& rule,
                                                                  const std::vector<rules::Instance>& instances,
                                                                  const rules::Properties& properties,
                                                                  std::uint64_t seed);

}  // namespace taso::verifier
