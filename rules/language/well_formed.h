// Checks a rule before shapes are considered: terms have the right kind, every variable is bound, and both sides have
// equally many results.
#pragma once

#include <optional>
#include <string>

#include "rules/language/rule.h"

namespace taso::rules {

/// A mistake, and the part of the rule that has it.
struct Flaw {
  std::string message;
  const Term* term = nullptr;
  const Pattern* pattern = nullptr;
  const Condition* condition = nullptr;
};

/// The first flaw, if there is one. Operators, fields and numbers of operands must be right already.
std::optional<Flaw> flaw_of(const Rule& rule);

}  // namespace taso::rules
