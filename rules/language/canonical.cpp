#include "rules/language/canonical.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>

#include <fmt/format.h>

#include "ops/text/operator_text.h"
#include "rules/language/rule_text.h"
#include "rules/language/signature.h"

namespace taso::rules {
namespace {

constexpr std::size_t digits_in_name = 10;

using Names = std::map<std::string, std::string>;

// More results than this keep their order: there would be too many permutations.
constexpr std::size_t most_results_permuted = 6;

std::string letter(std::string_view letters, std::size_t number) {
  if (number < letters.size()) return std::string(1, letters[number]);
  return fmt::format("{}{}", letters[0], number + 1);
}

// Names variables in the order in which patterns bind them. Variables inside terms do not count: terms are sorted
// later.
void name_variables(const Pattern& pattern, Names& names) {
  const auto name = [&](const Term& term) {
    if (term.kind == Term::Kind::variable) names.insert({term.name, letter("abcdefghijklmnopqrs", names.size())});
  };
  for (const auto& [field, term] : pattern.attributes) {
    name(*term);
    if (term->kind == Term::Kind::list)
      for (const TermPtr& element : term->operands) name(*element);
  }
  for (const PatternPtr& operand : pattern.operands) name_variables(*operand, names);
}

// The operands of a chain of one operator that may be in any order.
void flatten(const TermPtr& term, const std::string& function, std::vector<TermPtr>& parts) {
  if (term->kind == Term::Kind::call && term->name == function)
    for (const TermPtr& operand : term->operands) flatten(operand, function, parts);
  else
    parts.push_back(term);
}

// The numbers of a chain combined; nothing if that overflows.
std::optional<std::int64_t> combined(const std::string& function, const std::vector<TermPtr>& numbers) {
  std::int64_t value = function == "+" ? 0 : 1;
  for (const TermPtr& number : numbers)
    if (function == "+" ? __builtin_add_overflow(value, number->integer, &value)
                        : __builtin_mul_overflow(value, number->integer, &value))
      return std::nullopt;
  return value;
}

// Sums and products in the order of their texts, with at most one number, which comes last.
TermPtr sorted_chain(const std::string& function, const std::vector<TermPtr>& operands) {
  std::vector<TermPtr> parts, numbers;
  for (const TermPtr& operand : operands) flatten(operand, function, parts);
  const auto by_text = [](const TermPtr& a, const TermPtr& b) { return text_of(*a) < text_of(*b); };
  std::stable_sort(parts.begin(), parts.end(), by_text);
  const auto end = std::stable_partition(parts.begin(), parts.end(),
                                         [](const TermPtr& part) { return part->kind != Term::Kind::integer; });
  numbers.assign(end, parts.end());
  if (const auto number = combined(function, numbers)) {
    parts.erase(end, parts.end());
    if (*number != (function == "+" ? 0 : 1) || parts.empty()) parts.push_back(integer_term(*number));
  }
  TermPtr result = parts[0];
  for (std::size_t i = 1; i < parts.size(); ++i) result = call_term(function, {result, parts[i]});
  return result;
}

TermPtr rewritten(const TermPtr& term, const Names& names) {
  switch (term->kind) {
    case Term::Kind::integer:
    case Term::Kind::real:
    case Term::Kind::boolean: return term;
    case Term::Kind::variable: {
      const auto place = names.find(term->name);
      return place == names.end() ? term : variable_term(place->second);
    }
    default: break;
  }
  std::vector<TermPtr> operands;
  for (const TermPtr& operand : term->operands) operands.push_back(rewritten(operand, names));
  if (term->kind == Term::Kind::list) return list_term(std::move(operands));
  if (term->name == "+" || term->name == "*") return sorted_chain(term->name, operands);
  return call_term(term->name, std::move(operands));
}

// Whether the operator would be the same without the attribute.
bool says_nothing(const FieldSignature& field, const Term& term) {
  if (must_be_given(field.name)) return false;
  // These repeat as often as needed; a list would fix their length.
  if (field.name == "strides" || field.name == "dilations")
    return term.kind == Term::Kind::integer && term.integer == 1;
  if (field.name == "pads" || field.name == "output_padding")
    return term.kind == Term::Kind::integer && term.integer == 0;
  switch (field.kind) {
    case ValueKind::integer: return term.kind == Term::Kind::integer && text_of(term) == text_of_field(field.standard);
    case ValueKind::boolean: return term.kind == Term::Kind::boolean && text_of(term) == text_of_field(field.standard);
    case ValueKind::real: return term.kind == Term::Kind::real && text_of(term) == text_of_field(field.standard);
    case ValueKind::list: return term.kind == Term::Kind::list && text_of(term) == text_of_field(field.standard);
  }
  return false;
}

// `functions` maps the function variables of a law.
PatternPtr rewritten(const Pattern& pattern, const Names& inputs, const Names& names, const Names& functions) {
  auto result = std::make_shared<Pattern>();
  if (pattern.is_input()) {
    result->input = inputs.at(pattern.input);
    return result;
  }
  const auto function = functions.find(pattern.op);
  result->op = function == functions.end() ? pattern.op : function->second;
  result->output = pattern.output;
  const Signature* signature = signature_of(pattern.op);
  for (const auto& [name, term] : pattern.attributes) {
    const FieldSignature* field = signature ? signature->field(name) : nullptr;
    TermPtr value = rewritten(term, names);
    if (!field || !says_nothing(*field, *value)) result->attributes.emplace_back(name, std::move(value));
  }
  for (const PatternPtr& operand : pattern.operands)
    result->operands.push_back(rewritten(*operand, inputs, names, functions));
  return result;
}

// Nothing if the condition always holds.
std::optional<Condition> rewritten(const Condition& condition, const Names& inputs, const Names& names) {
  using Relation = Condition::Relation;
  Condition result = condition;
  for (std::string& name : result.inputs)
    if (const auto place = inputs.find(name); place != inputs.end()) name = place->second;
  std::sort(result.inputs.begin(), result.inputs.end());
  result.inputs.erase(std::unique(result.inputs.begin(), result.inputs.end()), result.inputs.end());
  if (result.relation == Relation::broadcast)
    return result.inputs.size() > 1 ? std::optional(std::move(result)) : std::nullopt;

  result.left = rewritten(condition.left, names);
  if (!result.right) return result;
  result.right = rewritten(condition.right, names);
  const bool symmetric = result.relation == Relation::equal || result.relation == Relation::not_equal;
  if (symmetric && text_of(*result.right) < text_of(*result.left)) std::swap(result.left, result.right);
  // For integers, less than 3 is at most 2.
  if (result.relation == Relation::less) {
    std::int64_t number = 0;
    if (result.left->kind == Term::Kind::integer && !__builtin_add_overflow(result.left->integer, 1, &number)) {
      result.left = integer_term(number);
      result.relation = Relation::at_most;
    } else if (result.right->kind == Term::Kind::integer &&
               !__builtin_sub_overflow(result.right->integer, 1, &number)) {
      result.right = integer_term(number);
      result.relation = Relation::at_most;
    }
  }
  const bool reflexive = result.relation == Relation::equal || result.relation == Relation::at_most;
  if (reflexive && *result.left == *result.right) return std::nullopt;
  return result;
}

// Keeps the order of sides and results.
Rule renamed(const Rule& rule) {
  Names inputs, names;
  for (const std::string& input : rule.inputs()) inputs.insert({input, letter("xyzwvut", inputs.size())});
  for (const auto* side : {&rule.source, &rule.target})
    for (const PatternPtr& pattern : *side) name_variables(*pattern, names);
  Names all = names;
  all.insert(inputs.begin(), inputs.end());

  Rule result;
  Names functions;
  for (const FunctionVariable& variable : rule.functions) {
    const std::string name = fmt::format("f{}", functions.size() + 1);
    functions.insert({variable.name, name});
    result.functions.push_back({name, variable.of});
  }
  result.kind = rule.kind == Rule::Kind::axiom ? Rule::Kind::axiom : Rule::Kind::candidate;
  result.both_ways = rule.both_ways;
  for (const PatternPtr& pattern : rule.source) result.source.push_back(rewritten(*pattern, inputs, all, functions));
  for (const PatternPtr& pattern : rule.target) result.target.push_back(rewritten(*pattern, inputs, all, functions));
  std::map<std::string, Condition> sorted;
  for (const Condition& condition : rule.conditions)
    if (auto kept = rewritten(condition, inputs, all)) sorted.insert({text_of(*kept), std::move(*kept)});
  for (auto& [text, condition] : sorted) result.conditions.push_back(std::move(condition));
  return result;
}

std::string statement(const Rule& rule) {
  std::string text;
  for (const FunctionVariable& variable : rule.functions)
    text += fmt::format("for {} in {} ", variable.name, variable.of);
  text += fmt::format("{} {} {}", text_of(rule.source), arrow_of(rule), text_of(rule.target));
  for (std::size_t i = 0; i < rule.conditions.size(); ++i)
    text += fmt::format("{} {}", i ? "," : " where", text_of(rule.conditions[i]));
  return text;
}

std::vector<PatternPtr> permuted(const std::vector<PatternPtr>& side, const std::vector<std::size_t>& order) {
  std::vector<PatternPtr> result;
  result.reserve(order.size());
  for (const std::size_t place : order) result.push_back(side[place]);
  return result;
}

// The operators of one side, each once, in the order of the text.
void collect_operators(const Pattern& pattern, std::vector<std::string>& names) {
  if (pattern.is_input()) return;
  if (std::find(names.begin(), names.end(), pattern.op) == names.end()) names.push_back(pattern.op);
  for (const PatternPtr& operand : pattern.operands) collect_operators(*operand, names);
}

std::string operators_of(const std::vector<PatternPtr>& side) {
  constexpr std::size_t most = 4;
  std::vector<std::string> names;
  for (const PatternPtr& pattern : side) collect_operators(*pattern, names);
  if (names.empty()) return "operand";
  if (names.size() > most) names.resize(most);
  return fmt::format("{}", fmt::join(names, "-"));
}

}  // namespace

Rule canonical(const Rule& rule, ResultOrder order) {
  std::vector<std::size_t> places(rule.source.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  const bool permutes =
      order == ResultOrder::any && places.size() <= most_results_permuted && rule.source.size() == rule.target.size();
  std::optional<Rule> best;
  std::string best_text;
  const auto consider = [&](const Rule& candidate) {
    Rule form = renamed(candidate);
    std::string text = statement(form);
    if (best && text >= best_text) return;
    best = std::move(form);
    best_text = std::move(text);
  };
  do {
    Rule candidate = rule;
    if (permutes) {
      candidate.source = permuted(rule.source, places);
      candidate.target = permuted(rule.target, places);
    }
    consider(candidate);
    if (rule.kind != Rule::Kind::axiom && !rule.both_ways) continue;
    std::swap(candidate.source, candidate.target);
    consider(candidate);
  } while (permutes && std::next_permutation(places.begin(), places.end()));
  return *best;
}

std::string canonical_text(const Rule& rule, ResultOrder order) { return statement(canonical(rule, order)); }

std::string content_hash(const Rule& rule, ResultOrder order) { return hash_of_text(canonical_text(rule, order)); }

bool equal_up_to_renaming(const Rule& a, const Rule& b, ResultOrder order) {
  return canonical_text(a, order) == canonical_text(b, order);
}

std::string generated_name(const Rule& rule) {
  const Rule form = canonical(rule);
  return fmt::format("{}-to-{}-{}", operators_of(form.source), operators_of(form.target),
                     hash_of_text(statement(form)).substr(0, digits_in_name));
}

bool is_generated_name(std::string_view name) {
  if (name.size() <= digits_in_name || name[name.size() - digits_in_name - 1] != '-') return false;
  return name.find("-to-") != std::string_view::npos &&
         name.find_first_not_of("0123456789abcdef", name.size() - digits_in_name) == std::string_view::npos;
}

}  // namespace taso::rules
