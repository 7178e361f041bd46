// Writes an equality that was found at concrete shapes as a rule for all of them.
#pragma once

#include <optional>
#include <vector>

#include "generator/enumerate.h"
#include "rules/rule.h"

namespace taso {

/// As a candidate, with attributes as they were enumerated; nothing if a constant stands where nothing says its size, or
/// if each side has an input that the other has not: that is no rule in either direction.
std::optional<Rule> write_rule(const Equality& equality, const Family& family);

/// The same with variables for axes, permutations, groups, strides, pads and kernels, the most general first; the rule
/// itself is last.
std::vector<Rule> generalisations(const Rule& rule);

}  // namespace taso
