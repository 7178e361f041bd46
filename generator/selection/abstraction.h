// Generalises laws found at certain axes, ranks and paddings to all for which they may be true.
#pragma once

#include <vector>

#include "rules/language/rule.h"

namespace taso::generator {

/// More general forms of a proved rule, the most general first; each is still to be proved. They have variables for two
/// axes, for the effect of transpositions on an axis, for paddings, slices and shapes; axes of factors counted from the
/// last one; and operands that broadcast.
std::vector<rules::Rule> abstractions(const rules::Rule& proved);

}  // namespace taso::generator
