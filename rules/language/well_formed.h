// What must be true of a rule before anything is asked of its shapes: terms of the right kind, every variable bound, as
// many results on one side as on the other.
#pragma once

#include <optional>
#include <string>

#include "rules/language/rule.h"

namespace taso::rules {

/// What is wrong, and at which part of the rule.
struct Flaw {
  std::string message;
  const Term* term = nullptr;
  const Pattern* pattern = nullptr;
  const Condition* condition = nullptr;
};

/// The first flaw, if there is one. Operators, fields and numbers of operands must be right already.
std::optional<Flaw> flaw_of(const Rule& rule);

}  // namespace taso::rules
