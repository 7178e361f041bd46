// Applies a match: the matched values get the computations of the target.
#pragma once

#include "search/rewriting/matcher.h"

namespace taso::search {

/// Changes the program. Records the changes in `log`, and in `made` the names of the results of the target's nodes,
/// before any of them are merged. Returns false and leaves the program unchanged if the match no longer exists, if a
/// value inside it is used elsewhere, if the graph would get a cycle, or if nothing would change. A value used
/// elsewhere may stay if the target has it too, or if there are fewer operators nevertheless.
bool rewrite(Program& program, const Match& match, Program::Log& log,
             std::vector<std::vector<ValueId>>* made = nullptr);

}  // namespace taso::search
