// Rules as people write them: "x·y, x·z ⇒ x·[y | z] cut between columns at columns(y)". For reading only: a rule file
// says more.
#pragma once

#include <string>

#include "rules/language/rule.h"

namespace taso::rules {

/// One side, on one line. Products are x·y, element-wise ones x ⊙ y; [x | y] joins columns, [x ; y] rows.
std::string mathematics_of(const std::vector<PatternPtr>& side);
std::string mathematics_of(const Pattern& pattern);
/// With signs instead of words: "a ≤ dim(x, 0)".
std::string mathematics_of(const Condition& condition);

}  // namespace taso::rules
