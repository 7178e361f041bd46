// Checks that a rule is used only as it was proved. Matching keeps the names of unknowns, proving replaces them by
// others that they equal. These are two ways to build an instance, and they must agree.
#pragma once

#include "rules/instance/instance.h"

namespace taso::rules {

/// Whether an instance made without solving (see instance()) says no more than `proved`, which was made with solving,
/// for the same choices: wherever the hypotheses and obligations of `used` hold, all that `proved` assumes holds, and
/// both have the same operators there. False also if this cannot be decided.
bool is_covered(const Instance& used, const Instance& proved);

}  // namespace taso::rules
