// Parses one item of a rule file: an axiom, a rule or a candidate.
#pragma once

#include "rules/language/rule.h"
#include "rules/language/rule_words.h"

namespace taso::rules {

/// Reads to the end of the item. Throws InputError that points at the mistake.
Rule parse_item(RuleWords& words);

}  // namespace taso::rules
