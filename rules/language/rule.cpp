#include "rules/language/rule.h"

#include <algorithm>
#include <set>

namespace taso::rules {
namespace {

template <class T>
bool same(const std::shared_ptr<const T>& a, const std::shared_ptr<const T>& b) {
  return a == b || (a && b && *a == *b);
}

template <class T>
bool same(const std::vector<std::shared_ptr<const T>>& a, const std::vector<std::shared_ptr<const T>>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) { return same(x, y); });
}

// Patterns may share parts: each is visited once.
void collect(const Pattern& pattern, std::set<const Pattern*>& seen, std::vector<std::string>& names) {
  if (!seen.insert(&pattern).second) return;
  if (pattern.is_input() && std::find(names.begin(), names.end(), pattern.input) == names.end())
    names.push_back(pattern.input);
  for (const PatternPtr& operand : pattern.operands) collect(*operand, seen, names);
}

}  // namespace

bool Pattern::operator==(const Pattern& other) const {
  if (this == &other) return true;
  return input == other.input && op == other.op && output == other.output &&
         std::equal(attributes.begin(), attributes.end(), other.attributes.begin(), other.attributes.end(),
                    [](const auto& a, const auto& b) { return a.first == b.first && same(a.second, b.second); }) &&
         same(operands, other.operands);
}

bool Condition::operator==(const Condition& other) const {
  return relation == other.relation && same(left, other.left) && same(right, other.right) && inputs == other.inputs;
}

std::vector<std::string> Rule::inputs() const {
  std::set<const Pattern*> seen;
  std::vector<std::string> names;
  for (const auto* side : {&source, &target})
    for (const PatternPtr& pattern : *side) collect(*pattern, seen, names);
  return names;
}

bool Rule::same_statement(const Rule& other) const {
  return (kind == Kind::axiom) == (other.kind == Kind::axiom) && both_ways == other.both_ways &&
         functions == other.functions && same(source, other.source) && same(target, other.target) &&
         conditions == other.conditions;
}

}  // namespace taso::rules
