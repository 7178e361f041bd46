// Applies a match: the values that were matched get the target's computations.
#pragma once

#include "search/matcher.h"

namespace taso {

/// Changes the program, and says how in `log`. False, with the program as it was, if the match is no longer there, if the
/// graph would get a cycle, or if nothing would change.
bool rewrite(Program& program, const Match& match, Program::Log& log);

}  // namespace taso
