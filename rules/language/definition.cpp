#include "rules/language/definition.h"

#include <algorithm>

#include "ops/core/error.h"

namespace taso::rules {
namespace {

class Expansion {
 public:
  explicit Expansion(const DefinitionArguments& arguments) : arguments_(arguments) {}

  PatternPtr of(const PatternPtr& pattern) const {
    if (pattern->is_input()) return of_name(pattern->input);
    auto result = std::make_shared<Pattern>(*pattern);
    for (auto& [name, term] : result->attributes) term = of(term);
    for (PatternPtr& operand : result->operands) operand = of(operand);
    arguments_.note_pattern(result);
    return result;
  }

 private:
  PatternPtr of_name(const std::string& name) const {
    if (const auto found = arguments_.patterns.find(name); found != arguments_.patterns.end()) return found->second;
    const TermPtr& value = arguments_.terms.at(name);  // a number as an operand
    auto result = std::make_shared<Pattern>();
    if (value->kind == Term::Kind::variable)
      result->input = value->name;
    else
      *result = number_pattern(value);
    arguments_.note_pattern(result);
    return result;
  }

  TermPtr of(const TermPtr& term) const {
    if (term->kind == Term::Kind::variable) {
      if (const auto found = arguments_.terms.find(term->name); found != arguments_.terms.end()) return found->second;
      const PatternPtr& input = arguments_.patterns.at(term->name);
      if (!input->is_input()) throw TermOfPattern{term->name};
      return noted(variable_term(input->input));
    }
    auto result = std::make_shared<Term>(*term);
    for (TermPtr& operand : result->operands) operand = of(operand);
    return noted(result);
  }

  TermPtr noted(TermPtr term) const {
    arguments_.note_term(term);
    return term;
  }

  const DefinitionArguments& arguments_;
};

}  // namespace

bool Definition::operator==(const Definition& other) const {
  return name == other.name && fields == other.fields && inputs == other.inputs && *body == *other.body;
}

PatternPtr expanded(const Definition& definition, const DefinitionArguments& arguments) {
  return Expansion(arguments).of(definition.body);
}

Pattern number_pattern(const TermPtr& value) {
  Pattern result;
  result.op = "clip";
  result.attributes = {{"low", value}, {"high", value}};
  return result;
}

bool is_number(const Pattern& pattern) { return pattern.op == "clip" && pattern.operands.empty(); }

std::size_t count_operators(const Pattern& pattern, std::size_t most) {
  if (pattern.is_input()) return 0;
  std::size_t count = 1;
  for (const PatternPtr& operand : pattern.operands) {
    if (count > most) break;
    count += count_operators(*operand, most - count);
  }
  return std::min(count, most + 1);
}

}  // namespace taso::rules
