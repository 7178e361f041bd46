// Random rules that are well-formed except for their shapes: all operators, fields, functions and relations.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "ops/core/random.h"
#include "rules/language/rule.h"
#include "rules/language/signature.h"

namespace taso::test {

class RandomRule {
 public:
  explicit RandomRule(std::uint64_t seed) : random_(seed) {}

  rules::Rule make() {
    rules::Rule rule;
    rule.kind = static_cast<rules::Rule::Kind>(random_.below(3));
    rule.name = name();
    used_ = {"x"};
    variables_.clear();
    const std::size_t results = 1 + random_.below(3);
    binding_ = true;
    rule.source = side(results, "x");  // so that there is an input to mention
    binding_ = false;
    for (rules::PatternPtr& result : rule.source) result = with_terms(*result);
    rule.target = side(results);
    // In both directions, each side must bind the names of the other: here, because they are exchanged.
    rule.both_ways = rule.kind != rules::Rule::Kind::axiom && random_.chance(0.2);
    if (rule.both_ways) rule.target.assign(rule.source.rbegin(), rule.source.rend());
    for (std::size_t i = random_.below(5); i > 0; --i) rule.conditions.push_back(condition());
    if (rule.kind != rules::Rule::Kind::axiom)
      for (std::size_t i = random_.below(8); i > 0; --i) rule.by.push_back(name());
    for (std::size_t i = random_.below(3); i > 0; --i) rule.comments.push_back(comment());
    return rule;
  }

  std::string comment() {
    static const std::vector<std::string> words{"x", "(y", "=", "#", "--", "where", "é", "  two", "1"};
    std::string text;
    for (std::size_t i = random_.below(6); i > 0; --i) text += (text.empty() ? "" : " ") + random_.pick(words);
    return text;
  }

  Random& random() { return random_; }

 private:
  std::string name() {
    static const std::vector<std::string> parts{"conv", "1x1", "rule", "of", "by", "0", "a.b", "x_y", "Long", "-"};
    std::string text = random_.chance(0.5) ? "n" : "_";
    for (std::size_t i = random_.below(6); i > 0; --i) text += "-" + random_.pick(parts);
    return text;
  }

  std::vector<rules::PatternPtr> side(std::size_t results, const std::string& must_use = "") {
    std::vector<rules::PatternPtr> all;
    while (all.size() < results) {
      all.push_back(pattern(0, true, all.empty() ? must_use : ""));
      if (all.back()->op != "split" || all.size() == results || random_.chance(0.3)) continue;
      auto other = std::make_shared<rules::Pattern>(*all.back());  // both results, often in order
      other->output = 1 - other->output;
      all.push_back(std::move(other));
    }
    return all;
  }

  rules::PatternPtr pattern(std::size_t depth, bool operators, const std::string& must_use = "") {
    static const std::vector<std::string> inputs{"x", "y", "z", "weights", "v1"};
    auto result = std::make_shared<rules::Pattern>();
    if (!operators || (must_use.empty() && random_.chance(0.1 + 0.3 * static_cast<double>(depth)))) {
      const std::string& input = binding_ ? (must_use.empty() ? random_.pick(inputs) : must_use) : random_.pick(used_);
      result->input = input;
      if (std::find(used_.begin(), used_.end(), input) == used_.end()) used_.push_back(input);
      return result;
    }
    const auto all = rules::signatures();
    const rules::Signature* signature = &all[random_.below(all.size())];
    while (!must_use.empty() && signature->min_operands == 0) signature = &all[random_.below(all.size())];
    result->op = signature->name;
    for (const rules::FieldSignature& field : signature->fields)
      if (random_.chance(0.7)) result->attributes.emplace_back(field.name, attribute(field.kind));
    const std::size_t number =
        signature->min_operands + random_.below(signature->max_operands - signature->min_operands + 1);
    for (std::size_t i = 0; i < number; ++i)
      result->operands.push_back(pattern(depth + 1, must_use.empty() || depth < 2, i == 0 ? must_use : ""));
    result->output = random_.below(signature->results);
    return result;
  }

  // While the source is made, attributes bind variables; terms over them follow when all are known.
  rules::TermPtr attribute(rules::ValueKind kind) {
    if (!binding_) return term(kind, 0);
    if (random_.chance(0.5)) {
      static const std::map<rules::ValueKind, std::vector<std::string>> names{
          {rules::ValueKind::integer, {"a", "g", "axis"}},
          {rules::ValueKind::list, {"s", "p", "perm"}},
          {rules::ValueKind::boolean, {"flag"}},
          {rules::ValueKind::real, {"e", "alpha"}}};
      const std::string& name = random_.pick(names.at(kind));
      variables_[name] = kind;
      return rules::variable_term(name);
    }
    return leaf(kind);
  }

  rules::PatternPtr with_terms(const rules::Pattern& pattern) {
    auto result = std::make_shared<rules::Pattern>(pattern);
    for (auto& [name, value] : result->attributes)
      if (value->kind != rules::Term::Kind::variable && random_.chance(0.5))
        value = term(rules::signature_of(pattern.op)->field(name)->kind, 0);
    for (rules::PatternPtr& operand : result->operands) operand = with_terms(*operand);
    return result;
  }

  rules::TermPtr leaf(rules::ValueKind kind) {
    switch (kind) {
      case rules::ValueKind::integer:
        return rules::integer_term(random_.chance(0.05) ? INT64_MIN + random_.between(0, 1) : random_.between(-2, 12));
      case rules::ValueKind::boolean: return rules::boolean_term(random_.chance(0.5));
      case rules::ValueKind::real: {
        static const std::vector<double> values{0, -0.0, 0.1, 1, -2.5, 1e-5, 1e300, -1e-300, 1.0 / 3, 1.0 / 0.0};
        return rules::real_term(random_.pick(values));
      }
      case rules::ValueKind::list: {
        std::vector<rules::TermPtr> elements;
        for (std::size_t i = random_.below(5); i > 0; --i) elements.push_back(leaf(rules::ValueKind::integer));
        return rules::list_term(std::move(elements));
      }
    }
    return nullptr;
  }

  rules::TermPtr variable_of(rules::ValueKind kind) {
    std::vector<std::string> fitting;
    for (const auto& [name, its_kind] : variables_)
      if (its_kind == kind) fitting.push_back(name);
    return fitting.empty() ? leaf(kind) : rules::variable_term(random_.pick(fitting));
  }

  rules::TermPtr input() { return rules::variable_term(random_.pick(used_)); }

  rules::TermPtr term(rules::ValueKind kind, std::size_t depth) {
    if (random_.chance(0.3)) return variable_of(kind);
    if (kind == rules::ValueKind::boolean || kind == rules::ValueKind::real) return leaf(kind);
    if (depth > 3 || random_.chance(0.2)) return leaf(kind);
    return kind == rules::ValueKind::integer ? integer(depth + 1) : list(depth + 1);
  }

  rules::TermPtr integer(std::size_t depth) {
    const auto i = [&] { return term(rules::ValueKind::integer, depth); };
    const auto l = [&] { return term(rules::ValueKind::list, depth); };
    switch (random_.below(7)) {
      case 0: return rules::call_term("dim", {input(), i()});
      case 1: return rules::call_term("rank", {input()});
      case 2: return rules::call_term(random_.chance(0.5) ? "product" : "sum", {l()});
      case 3: return rules::call_term("position", {l(), i()});
      case 4: return rules::call_term("[]", {l(), i()});
      default: return rules::call_term(arithmetic(), {i(), i()});
    }
  }

  rules::TermPtr list(std::size_t depth) {
    const auto i = [&] { return term(rules::ValueKind::integer, depth); };
    const auto l = [&] { return term(rules::ValueKind::list, depth); };
    switch (random_.below(13)) {
      case 0: return rules::call_term(random_.chance(0.5) ? "shape" : "spatial", {input()});
      case 1: return rules::call_term(random_.chance(0.5) ? "begins" : "ends", {l()});
      case 2: return rules::call_term("repeat", {i(), i()});
      case 3: return rules::call_term("inverse", {l()});
      case 4: return rules::call_term(random_.chance(0.5) ? "compose" : "permuted", {l(), l()});
      case 5: return rules::call_term("without", {l(), random_.chance(0.5) ? l() : i()});
      case 6: return rules::call_term(random_.chance(0.5) ? "replaced" : "inserted", {l(), i(), i()});
      case 7: return rules::call_term("swap_last", {i()});
      case 8: return rules::call_term("same", {l(), random_.chance(0.5) ? l() : i(), i()});
      case 9: return rules::call_term("++", {l(), l()});
      case 10: return rules::list_term({i(), i()});
      default:
        return random_.chance(0.5) ? rules::call_term(arithmetic(), {l(), i()})
                                   : rules::call_term(arithmetic(), {l(), l()});
    }
  }

  std::string arithmetic() {
    static const std::vector<std::string> symbols{"+", "-", "*", "/", "%"};
    return random_.pick(symbols);
  }

  rules::Condition condition() {
    rules::Condition result;
    result.relation = static_cast<rules::Condition::Relation>(random_.below(8));
    if (result.relation == rules::Condition::Relation::broadcast) {
      result.inputs = {random_.pick(used_), random_.pick(used_)};
      return result;
    }
    const auto number = [&] {
      return term(random_.chance(0.5) ? rules::ValueKind::integer : rules::ValueKind::list, 0);
    };
    result.left = number();
    if (result.relation != rules::Condition::Relation::even && result.relation != rules::Condition::Relation::odd)
      result.right = number();
    if (result.relation == rules::Condition::Relation::equal && random_.chance(0.2)) {
      result.left = term(rules::ValueKind::boolean, 0);
      result.right = term(rules::ValueKind::boolean, 0);
    }
    return result;
  }

  Random random_;
  bool binding_ = false;
  std::vector<std::string> used_;
  std::map<std::string, rules::ValueKind> variables_;
};

}  // namespace taso::test
