// Writes an equality found at concrete shapes as a rule for all shapes.
#pragma once

#include <optional>
#include <vector>

#include "generator/enumeration/enumerate.h"
#include "rules/language/rule.h"

namespace taso::generator {

/// Whether a rule is tried at every rank at which it fits, or states the ranks at which its inputs were found.
enum class Ranks { open, stated };

/// The equality as a candidate, with the attributes that were enumerated. Nothing if the size of a constant is unknown,
/// or if each side has an input that the other lacks: then neither direction is a rule.
std::optional<rules::Rule> write_rule(const Equality& equality, const Family& family, Ranks ranks = Ranks::open);

/// Whether the equality has both products, which count rows and columns from the end, and operators that count axes
/// from the beginning: what is true at one rank may then be false at another.
bool meets_literal_axes(const Equality& equality, const Family& family);

/// The rule with variables for axes, permutations, groups, strides, pads and kernels, the most general first; the rule
/// itself is last.
std::vector<rules::Rule> generalisations(const rules::Rule& rule);

}  // namespace taso::generator
