#include "rules/rule_size.h"

#include <algorithm>
#include <set>

#include "rules/rule_text.h"

namespace taso {
namespace {

void collect(const Pattern& pattern, std::set<std::string>& operators) {
  if (pattern.is_input()) return;
  for (const PatternPtr& operand : pattern.operands) collect(*operand, operators);
  Pattern whole = pattern;
  whole.output = 0;
  operators.insert(text_of(whole));
}

}  // namespace

std::size_t size_of(const Rule& rule) {
  std::size_t most = 0;
  for (const auto* side : {&rule.source, &rule.target}) {
    std::set<std::string> operators;
    for (const PatternPtr& pattern : *side) collect(*pattern, operators);
    most = std::max(most, operators.size());
  }
  return most;
}

}  // namespace taso
