// Reads the binary rule files of TASO (SOSP 2019).
#pragma once

#include "ops/text/source.h"
#include "rules/language/rule_text.h"

namespace taso::rules {

/// Reads every substitution of the file as a candidate called taso-000, taso-001, … Throws InputError that names the
/// rule at fault, also if an operator has no counterpart here.
///
/// What such files leave open is made explicit. Same padding becomes same(…). A convolution's activation becomes an
/// operator. Its groups become a variable on the left side, and on the right side what its operands' channels imply.
/// The kernel, and the rank that a concat names, become conditions. A split cuts where the concat that made its operand
/// joined. Average pooling counts the padding, as in TASO's own properties.
RuleFile parse_taso_rules(const Source& bytes);

/// A rule of such a file that is well-formed there, but leaves open what a rule here must state: the size of a
/// constant, or where a split cuts.
struct UnstatedRule {
  std::string name;
  std::string reason;      ///< a clause
  std::size_t before = 0;  ///< the number of rules before it in the resulting file
};
/// The same, but rules that cannot be stated are left out, with a comment that says why, and are listed in `unstated`.
RuleFile parse_taso_rules(const Source& bytes, std::vector<UnstatedRule>& unstated);

}  // namespace taso::rules
