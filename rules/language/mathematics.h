// Rules as people write them: "x·y, x·z ⇒ x·[y | z] cut between columns at columns(y)". For reading only: a rule file
// says more.
#pragma once

#include <string>

#include "rules/language/rule.h"

namespace taso::rules {

struct WrittenSides {
  std::string source, target;
};

/// Each side on one line. Products are x·y, element-wise ones x ⊙ y; [x | y] joins columns, [x ; y] rows. Only a rule
/// whose sides would read the same has all parentheses, and says which parts come from a split.
WrittenSides mathematics_of(const Rule& rule);
std::string mathematics_of(const Pattern& pattern);
/// With signs instead of words: "a ≤ dim(x, 0)".
std::string mathematics_of(const Condition& condition);

}  // namespace taso::rules
