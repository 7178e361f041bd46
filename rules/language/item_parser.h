// Parses one item of a rule file: an axiom, a rule, a candidate or a definition.
#pragma once

#include <map>
#include <variant>

#include "rules/language/definition.h"
#include "rules/language/rule.h"
#include "rules/language/rule_words.h"

namespace taso::rules {

/// By name: those that an item may use.
using Definitions = std::map<std::string, Definition, std::less<>>;

/// Reads to the end of the item. Throws InputError that points at the mistake.
std::variant<Rule, Definition> parse_item(RuleWords& words, const Definitions& definitions = {});

}  // namespace taso::rules
