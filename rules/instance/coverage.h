// Whether what is used of a rule is what was proved of it. Matching names unknowns as they stand in the rule, proving
// replaces them by others that they equal: these are two ways to build an instance, and they have to meet.
#pragma once

#include "rules/instance/instance.h"

namespace taso::rules {

/// Whether an instance made without solving (see instance()) says no more than `proved`, which was made with it, for
/// the same choices: wherever the hypotheses and obligations of `used` hold, all that `proved` assumes holds, and both
/// have the same operators there. False also where that cannot be told.
bool is_covered(const Instance& used, const Instance& proved);

}  // namespace taso::rules
