// Random rules that are well-formed in everything but their shapes: all operators, fields, functions and relations.
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

  Rule make() {
    Rule rule;
    rule.kind = static_cast<Rule::Kind>(random_.below(3));
    rule.name = name();
    used_ = {"x"};
    variables_.clear();
    const std::size_t results = 1 + random_.below(3);
    binding_ = true;
    rule.source = side(results, "x");  // so that there is an input to speak of
    binding_ = false;
    for (PatternPtr& result : rule.source) result = with_terms(*result);
    rule.target = side(results);
    for (std::size_t i = random_.below(5); i > 0; --i) rule.conditions.push_back(condition());
    if (rule.kind != Rule::Kind::axiom)
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

  std::vector<PatternPtr> side(std::size_t results, const std::string& must_use = "") {
    std::vector<PatternPtr> all;
    while (all.size() < results) {
      all.push_back(pattern(0, true, all.empty() ? must_use : ""));
      if (all.back()->op != "split" || all.size() == results || random_.chance(0.3)) continue;
      auto other = std::make_shared<Pattern>(*all.back());  // both results, often in order
      other->output = 1 - other->output;
      all.push_back(std::move(other));
    }
    return all;
  }

  PatternPtr pattern(std::size_t depth, bool operators, const std::string& must_use = "") {
    static const std::vector<std::string> inputs{"x", "y", "z", "weights", "v1"};
    auto result = std::make_shared<Pattern>();
    if (!operators || (must_use.empty() && random_.chance(0.1 + 0.3 * static_cast<double>(depth)))) {
      const std::string& input = binding_ ? (must_use.empty() ? random_.pick(inputs) : must_use) : random_.pick(used_);
      result->input = input;
      if (std::find(used_.begin(), used_.end(), input) == used_.end()) used_.push_back(input);
      return result;
    }
    const auto all = signatures();
    const Signature* signature = &all[random_.below(all.size())];
    while (!must_use.empty() && signature->min_operands == 0) signature = &all[random_.below(all.size())];
    result->op = signature->name;
    for (const FieldSignature& field : signature->fields)
      if (random_.chance(0.7)) result->attributes.emplace_back(field.name, attribute(field.kind));
    const std::size_t number =
        signature->min_operands + random_.below(signature->max_operands - signature->min_operands + 1);
    for (std::size_t i = 0; i < number; ++i)
      result->operands.push_back(pattern(depth + 1, must_use.empty() || depth < 2, i == 0 ? must_use : ""));
    result->output = random_.below(signature->results);
    return result;
  }

  // While the source is made, attributes bind variables; terms over them come when all are known.
  TermPtr attribute(ValueKind kind) {
    if (!binding_) return term(kind, 0);
    if (random_.chance(0.5)) {
      static const std::map<ValueKind, std::vector<std::string>> names{{ValueKind::integer, {"a", "g", "axis"}},
                                                                       {ValueKind::list, {"s", "p", "perm"}},
                                                                       {ValueKind::boolean, {"flag"}},
                                                                       {ValueKind::real, {"e", "alpha"}}};
      const std::string& name = random_.pick(names.at(kind));
      variables_[name] = kind;
      return variable_term(name);
    }
    return leaf(kind);
  }

  PatternPtr with_terms(const Pattern& pattern) {
    auto result = std::make_shared<Pattern>(pattern);
    for (auto& [name, value] : result->attributes)
      if (value->kind != Term::Kind::variable && random_.chance(0.5))
        value = term(signature_of(pattern.op)->field(name)->kind, 0);
    for (PatternPtr& operand : result->operands) operand = with_terms(*operand);
    return result;
  }

  TermPtr leaf(ValueKind kind) {
    switch (kind) {
      case ValueKind::integer:
        return integer_term(random_.chance(0.05) ? INT64_MIN + random_.between(0, 1) : random_.between(-2, 12));
      case ValueKind::boolean: return boolean_term(random_.chance(0.5));
      case ValueKind::real: {
        static const std::vector<double> values{0, -0.0, 0.1, 1, -2.5, 1e-5, 1e300, -1e-300, 1.0 / 3, 1.0 / 0.0};
        return real_term(random_.pick(values));
      }
      case ValueKind::list: {
        std::vector<TermPtr> elements;
        for (std::size_t i = random_.below(5); i > 0; --i) elements.push_back(leaf(ValueKind::integer));
        return list_term(std::move(elements));
      }
    }
    return nullptr;
  }

  TermPtr variable_of(ValueKind kind) {
    std::vector<std::string> fitting;
    for (const auto& [name, its_kind] : variables_)
      if (its_kind == kind) fitting.push_back(name);
    return fitting.empty() ? leaf(kind) : variable_term(random_.pick(fitting));
  }

  TermPtr input() { return variable_term(random_.pick(used_)); }

  TermPtr term(ValueKind kind, std::size_t depth) {
    if (random_.chance(0.3)) return variable_of(kind);
    if (kind == ValueKind::boolean || kind == ValueKind::real) return leaf(kind);
    if (depth > 3 || random_.chance(0.2)) return leaf(kind);
    return kind == ValueKind::integer ? integer(depth + 1) : list(depth + 1);
  }

  TermPtr integer(std::size_t depth) {
    const auto i = [&] { return term(ValueKind::integer, depth); };
    const auto l = [&] { return term(ValueKind::list, depth); };
    switch (random_.below(7)) {
      case 0: return call_term("dim", {input(), i()});
      case 1: return call_term("rank", {input()});
      case 2: return call_term(random_.chance(0.5) ? "product" : "sum", {l()});
      case 3: return call_term("position", {l(), i()});
      case 4: return call_term("[]", {l(), i()});
      default: return call_term(arithmetic(), {i(), i()});
    }
  }

  TermPtr list(std::size_t depth) {
    const auto i = [&] { return term(ValueKind::integer, depth); };
    const auto l = [&] { return term(ValueKind::list, depth); };
    switch (random_.below(13)) {
      case 0: return call_term(random_.chance(0.5) ? "shape" : "spatial", {input()});
      case 1: return call_term(random_.chance(0.5) ? "begins" : "ends", {l()});
      case 2: return call_term("repeat", {i(), i()});
      case 3: return call_term("inverse", {l()});
      case 4: return call_term(random_.chance(0.5) ? "compose" : "permuted", {l(), l()});
      case 5: return call_term("without", {l(), random_.chance(0.5) ? l() : i()});
      case 6: return call_term(random_.chance(0.5) ? "replaced" : "inserted", {l(), i(), i()});
      case 7: return call_term("swap_last", {i()});
      case 8: return call_term("same", {l(), random_.chance(0.5) ? l() : i(), i()});
      case 9: return call_term("++", {l(), l()});
      case 10: return list_term({i(), i()});
      default: return random_.chance(0.5) ? call_term(arithmetic(), {l(), i()}) : call_term(arithmetic(), {l(), l()});
    }
  }

  std::string arithmetic() {
    static const std::vector<std::string> symbols{"+", "-", "*", "/", "%"};
    return random_.pick(symbols);
  }

  Condition condition() {
    Condition result;
    result.relation = static_cast<Condition::Relation>(random_.below(8));
    if (result.relation == Condition::Relation::broadcast) {
      result.inputs = {random_.pick(used_), random_.pick(used_)};
      return result;
    }
    const auto number = [&] { return term(random_.chance(0.5) ? ValueKind::integer : ValueKind::list, 0); };
    result.left = number();
    if (result.relation != Condition::Relation::even && result.relation != Condition::Relation::odd)
      result.right = number();
    if (result.relation == Condition::Relation::equal && random_.chance(0.2)) {
      result.left = term(ValueKind::boolean, 0);
      result.right = term(ValueKind::boolean, 0);
    }
    return result;
  }

  Random random_;
  bool binding_ = false;
  std::vector<std::string> used_;
  std::map<std::string, ValueKind> variables_;
};

}  // namespace taso::test
