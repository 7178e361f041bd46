// Reads the binary rule files of TASO (SOSP 2019) as rules of ours.
#pragma once

#include "ops/text/source.h"
#include "rules/language/rule_text.h"

namespace taso::rules {

/// Every substitution of the file as a candidate called taso-000, taso-001, … Throws InputError that names
/// the rule at fault, also when an operator has no counterpart here.
///
/// What such files leave unsaid is made explicit. Same padding becomes same(…); a convolution's activation an operator;
/// its groups a variable on the left side and what its operands' channels imply on the right; the kernel, and the rank
/// that a concat names, a condition; a split cuts where the concat that made its operand joined; average pooling counts
/// the padding, as TASO's own properties have it.
RuleFile parse_taso_rules(const Source& bytes);

/// A rule of such a file that is well-formed there, but leaves open what a rule here has to say: how large a constant
/// is, where a split cuts.
struct UnstatedRule {
  std::string name;
  std::string reason;      ///< a clause
  std::size_t before = 0;  ///< how many rules stand before it in the file that it was left out of
};
/// The same, but rules that cannot be stated are left out, and a comment says why; they are told in `unstated`.
RuleFile parse_taso_rules(const Source& bytes, std::vector<UnstatedRule>& unstated);

}  // namespace taso::rules
