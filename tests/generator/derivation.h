// Decides whether a rule follows from others by rewriting, at all of its ranks and with its own limits.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "rules/egraph/property.h"
#include "rules/egraph/saturation.h"

namespace taso::test {

/// How often each operator occurs.
std::multiset<std::string> operators_of(const std::vector<rules::PatternPtr>& side);

/// Rules as equations, to be used in both directions.
rules::Properties equations_of(std::vector<rules::Rule> rules);
/// The same, together with the commutativity of sums and products, which a search knows without a rule.
rules::Properties equations_in_a_search(std::vector<rules::Rule> rules);

/// Empty if it follows; otherwise why not, with the first ranks and axes at which it does not.
std::string obstacle_to_deriving(const rules::Rule& rule, const rules::Properties& equations,
                                 const rules::SaturationLimits& limits);

/// The name of a rule among `rules` that implies it alone, perhaps for more sizes, axes or attributes; empty if none
/// does.
std::string rule_that_says(const rules::Rule& rule, const std::vector<rules::Rule>& rules);

}  // namespace taso::test
