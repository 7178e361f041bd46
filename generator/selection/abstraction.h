// From what was found at some axes, ranks and paddings to what may be true of all of them.
#pragma once

#include <vector>

#include "rules/language/rule.h"

namespace taso::generator {

/// More general forms of a rule that is proved, to be proved in turn; what holds of all of them, the most general
/// first. Variables for two axes, for what transpositions do to an axis, for paddings, slices and shapes; axes of
/// factors counted from the last one; and operands that broadcast.
std::vector<rules::Rule> abstractions(const rules::Rule& proved);

}  // namespace taso::generator
