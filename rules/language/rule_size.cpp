#include "rules/language/rule_size.h"

#include <algorithm>
#include <set>

#include "rules/language/rule_text.h"

namespace taso::rules {
namespace {

std::size_t operators_of(const Pattern& pattern) {
  if (pattern.is_input()) return 0;
  std::size_t count = 1;
  for (const PatternPtr& operand : pattern.operands) count += operators_of(*operand);
  return count;
}

std::size_t operators_of(const std::vector<PatternPtr>& side) {
  std::set<std::string> seen;
  std::size_t count = 0;
  for (const PatternPtr& pattern : side) {
    Pattern whole = *pattern;
    whole.output = 0;
    if (seen.insert(text_of(whole)).second) count += operators_of(whole);
  }
  return count;
}

}  // namespace

std::size_t size_of(const Rule& rule) { return std::max(operators_of(rule.source), operators_of(rule.target)); }

}  // namespace taso::rules
