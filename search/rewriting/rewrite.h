// Applies a match: the values that were matched get the target's computations.
#pragma once

#include "search/rewriting/matcher.h"

namespace taso::search {

/// Changes the program, and says how in `log`, and in `made` how the results of the target's nodes are called, before any of
/// them turn out to be others. False, with the program as it was, if the match is no longer there, if something inside of it
/// is used elsewhere, if the graph would get a cycle, or if nothing would change.
/// What is used elsewhere may stay, if the target has it too, and if there are fewer operators nevertheless.
bool rewrite(Program& program, const Match& match, Program::Log& log,
             std::vector<std::vector<ValueId>>* made = nullptr);

}  // namespace taso::search
