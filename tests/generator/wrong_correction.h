// Small changes of a rule with a corrected program, most of which make it false: other regions, other corrections,
// missing conditions. They must not deceive the verifier.
#pragma once

#include <string_view>
#include <vector>

#include "rules/language/rule.h"

namespace taso::test {

struct ChangedCorrection {
  rules::Rule rule;
  std::string_view change;  ///< what was changed, in words
};

/// Every change of one place. The rule's target is a chain of concats of slices of a program and of the operator on
/// slices of its input. Deterministic; no two are equal, and none is the rule itself.
std::vector<ChangedCorrection> changed_corrections(const rules::Rule& rule);

/// The rule for large sizes and pads only. A change of its target seldom asks for an element that does not exist, so
/// that the numbers decide, not the shapes.
rules::Rule at_large_sizes(rules::Rule rule);

}  // namespace taso::test
