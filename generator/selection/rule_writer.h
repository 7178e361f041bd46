// Writes an equality that was found at concrete shapes as a rule for all of them.
#pragma once

#include <optional>
#include <vector>

#include "generator/enumeration/enumerate.h"
#include "rules/language/rule.h"

namespace taso::generator {

/// Whether a rule is tried at every rank at which it fits, or says at which its inputs were found.
enum class Ranks { open, stated };

/// As a candidate, with attributes as they were enumerated; nothing if a constant stands where nothing says its size,
/// or if each side has an input that the other has not: that is no rule in either direction.
std::optional<rules::Rule> write_rule(const Equality& equality, const Family& family, Ranks ranks = Ranks::open);

/// A product takes rows and columns from the end, other operators name their axes from the beginning: what one rank
/// makes true may be false at another.
bool meets_literal_axes(const Equality& equality, const Family& family);

/// The same with variables for axes, permutations, groups, strides, pads and kernels, the most general first; the rule
/// itself is last.
std::vector<rules::Rule> generalisations(const rules::Rule& rule);

}  // namespace taso::generator
