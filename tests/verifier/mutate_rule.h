// Small changes of a rule, most of which make it false; they must not deceive the verifier.
#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "ops/core/random.h"
#include "rules/instance/symbolic_operator.h"
#include "rules/language/rule.h"

namespace taso::test {

class RuleMutation {
 public:
  static constexpr std::array<std::string_view, 10> kinds{
      "operands swapped",   "input exchanged",  "attribute changed", "attribute dropped", "axis moved",
      "operator exchanged", "operator removed", "operator added",    "condition changed", "results exchanged"};

  explicit RuleMutation(Random& random) : random_(random) {}

  /// Nothing if the rule has no place for this kind of change, or the change has no effect.
  std::optional<rules::Rule> apply(const rules::Rule& rule, std::size_t kind) {
    rule_ = rule;
    rule_.kind = rules::Rule::Kind::candidate;
    rule_.by.clear();
    rule_.comments.clear();
    bool changed = false;
    switch (kind) {
      case 0:
        changed = at_some_node([](const rules::Pattern& p) { return p.operands.size() > 1; },
                               [&](rules::Pattern& p) {
                                 const std::size_t first = random_.below(p.operands.size() - 1);
                                 std::swap(p.operands[first], p.operands[first + 1]);
                               });
        break;
      case 1: changed = exchange_input(); break;
      case 2:
        changed = at_some_node(has_attribute, [&](rules::Pattern& p) {
          auto& [name, term] = p.attributes[random_.below(p.attributes.size())];
          term = changed_term(term);
        });
        break;
      case 3:
        changed = at_some_node(has_attribute, [&](rules::Pattern& p) {
          p.attributes.erase(p.attributes.begin() + offset(p.attributes.size()));
        });
        break;
      case 4:
        changed = at_some_node([](const rules::Pattern& p) { return axis_of(p) != nullptr; },
                               [&](rules::Pattern& p) { move_axis(p); });
        break;
      case 5:
        changed = at_some_node([](const rules::Pattern& p) { return group_of(p) != nullptr; },
                               [&](rules::Pattern& p) { exchange_operator(p); });
        break;
      case 6:
        changed = at_some_node([](const rules::Pattern& p) { return !p.operands.empty(); },
                               [&](rules::Pattern& p) { p = *p.operands[random_.below(p.operands.size())]; });
        break;
      case 7:
        changed = at_some_node([](const rules::Pattern&) { return true; }, [&](rules::Pattern& p) { wrap(p); });
        break;
      case 8: changed = change_condition(); break;
      case 9: changed = exchange_results(); break;
      default: break;
    }
    if (!changed || rule_.same_statement(rule)) return std::nullopt;
    return std::move(rule_);
  }

 private:
  using Group = std::vector<std::string_view>;

  static const Group* group_of(const rules::Pattern& pattern) {
    static const std::vector<Group> groups{
        {"add", "sub", "mul", "div", "max", "min"},
        {"relu", "sigmoid", "tanh", "exp", "erf", "sqrt", "gelu", "hard_swish", "leaky_relu"},
        {"reduce_sum", "reduce_mean", "reduce_max"},
        {"max_pool", "average_pool"},
        {"identity_kernel", "pooling_kernel"},
        {"concat", "add"},
    };
    for (const Group& group : groups)
      if (std::find(group.begin(), group.end(), pattern.op) != group.end()) return &group;
    return nullptr;
  }
  static bool has_attribute(const rules::Pattern& pattern) { return !pattern.attributes.empty(); }
  static const rules::TermPtr* axis_of(const rules::Pattern& pattern) {
    for (const auto& [name, term] : pattern.attributes)
      if (name == "axis" || name == "axes" || name == "permutation") return &term;
    return nullptr;
  }
  std::ptrdiff_t offset(std::size_t size) { return static_cast<std::ptrdiff_t>(random_.below(size)); }

  // --- Places in a rule ---

  using Accept = std::function<bool(const rules::Pattern&)>;
  using Change = std::function<void(rules::Pattern&)>;

  static std::size_t count(const rules::PatternPtr& pattern, const Accept& accept) {
    std::size_t sum = accept(*pattern) ? 1 : 0;
    for (const rules::PatternPtr& operand : pattern->operands) sum += count(operand, accept);
    return sum;
  }
  /// The pattern with a change at node `place`, counting accepted nodes only.
  static rules::PatternPtr changed_at(const rules::PatternPtr& pattern, std::size_t& place, const Accept& accept,
                                      const Change& change) {
    rules::Pattern copy = *pattern;
    if (accept(*pattern) && place-- == 0) {
      change(copy);
      place = static_cast<std::size_t>(-1) / 2;  // never again
      return std::make_shared<const rules::Pattern>(std::move(copy));
    }
    for (rules::PatternPtr& operand : copy.operands) operand = changed_at(operand, place, accept, change);
    return std::make_shared<const rules::Pattern>(std::move(copy));
  }
  bool at_some_node(const Accept& accept, const Change& change) {
    std::size_t places = 0;
    for (const auto* side : {&rule_.source, &rule_.target})
      for (const rules::PatternPtr& pattern : *side) places += count(pattern, accept);
    if (places == 0) return false;
    std::size_t place = random_.below(places);
    for (auto* side : {&rule_.source, &rule_.target})
      for (rules::PatternPtr& pattern : *side) pattern = changed_at(pattern, place, accept, change);
    return true;
  }

  // --- Changes ---

  bool exchange_input() {
    const std::vector<std::string> inputs = rule_.inputs();
    if (inputs.size() < 2) return false;
    return at_some_node([](const rules::Pattern& p) { return p.is_input(); },
                        [&](rules::Pattern& p) { p.input = random_.pick(inputs); });
  }

  void move_axis(rules::Pattern& pattern) {
    for (auto& [name, term] : pattern.attributes) {
      if (name == "axis") term = rules::integer_term(random_.between(0, 3));
      if (name == "axes") term = rules::list_term({rules::integer_term(random_.between(0, 3))});
      if (name == "permutation" && term->kind == rules::Term::Kind::list) {
        std::vector<rules::TermPtr> axes = term->operands;
        random_.shuffle(axes);
        term = rules::list_term(std::move(axes));
      } else if (name == "permutation") {
        term = rules::call_term("inverse", {term});
      }
    }
  }

  void exchange_operator(rules::Pattern& pattern) {
    pattern.op = random_.pick(*group_of(pattern));
    const auto kind = rules::kind_named(pattern.op);
    std::erase_if(pattern.attributes, [&](const auto& attribute) {
      const auto& fields = rules::symbolic_fields(*kind);
      return std::none_of(fields.begin(), fields.end(), [&](const auto& f) { return f.name == attribute.first; });
    });
  }

  void wrap(rules::Pattern& pattern) {
    rules::Pattern outer;
    outer.op = random_.pick<std::string>({"relu", "tanh", "add", "mul", "max"});
    const auto inner = std::make_shared<const rules::Pattern>(pattern);
    outer.operands.assign(outer.op == "relu" || outer.op == "tanh" ? 1 : 2, inner);
    pattern = std::move(outer);
  }

  bool change_condition() {
    if (rule_.conditions.empty()) return false;
    const std::size_t place = random_.below(rule_.conditions.size());
    rules::Condition& condition = rule_.conditions[place];
    if (random_.chance(0.5) || !condition.left || !condition.right) {
      rule_.conditions.erase(rule_.conditions.begin() + static_cast<std::ptrdiff_t>(place));
      return true;
    }
    using Relation = rules::Condition::Relation;
    switch (random_.below(3)) {
      case 0: condition.left = changed_term(condition.left); break;
      case 1: condition.right = changed_term(condition.right); break;
      default:
        condition.relation = random_.pick<Relation>({Relation::equal, Relation::at_most, Relation::less});
        if (random_.chance(0.3)) std::swap(condition.left, condition.right);
        break;
    }
    return true;
  }

  bool exchange_results() {
    if (random_.chance(0.5))
      return at_some_node([](const rules::Pattern& p) { return p.op == "split"; },
                          [](rules::Pattern& p) { p.output = 1 - p.output; });
    if (rule_.target.size() < 2) return false;
    std::swap(rule_.target[0], rule_.target[1]);
    return true;
  }

  /// A similar term.
  rules::TermPtr changed_term(const rules::TermPtr& term) {
    switch (term->kind) {
      case rules::Term::Kind::integer:
        return rules::integer_term(std::max<std::int64_t>(term->integer + random_.between(-1, 1), 0));
      case rules::Term::Kind::real: return rules::real_term(term->real * random_.pick<double>({0.5, 2, -1}));
      case rules::Term::Kind::boolean: return rules::boolean_term(term->integer == 0);
      case rules::Term::Kind::variable:
        switch (random_.below(4)) {
          case 0: return rules::integer_term(random_.between(0, 2));
          case 1: return rules::call_term("*", {term, rules::integer_term(2)});
          case 2: return rules::variable_term(random_.pick<std::string>({"s", "d", "p", "g", "k", "a", "n"}));
          default: return rules::call_term("+", {term, rules::integer_term(1)});
        }
      case rules::Term::Kind::list: {
        if (term->operands.empty()) return term;
        std::vector<rules::TermPtr> elements = term->operands;
        if (elements.size() > 1 && random_.chance(0.4)) {
          random_.shuffle(elements);
        } else {
          rules::TermPtr& element = elements[random_.below(elements.size())];
          element = changed_term(element);
        }
        return rules::list_term(std::move(elements));
      }
      case rules::Term::Kind::call: {
        std::vector<rules::TermPtr> operands = term->operands;
        const bool is_arithmetic = term->name == "+" || term->name == "-" || term->name == "*" || term->name == "/";
        if (random_.chance(0.25) && !operands.empty()) return random_.pick(operands);
        if (is_arithmetic && random_.chance(0.3))
          return rules::call_term(random_.pick<std::string>({"+", "-", "*", "/"}), std::move(operands));
        if (term->name == "dim" && random_.chance(0.5)) {
          operands[0] = rules::variable_term(random_.pick(rule_.inputs()));
          return rules::call_term("dim", std::move(operands));
        }
        if (operands.empty()) return term;
        const bool names_input =
            term->name == "dim" || term->name == "shape" || term->name == "spatial" || term->name == "rank";
        const std::size_t place = names_input && operands.size() == 2 ? 1 : random_.below(operands.size());
        operands[place] = names_input && place == 0 ? rules::variable_term(random_.pick(rule_.inputs()))
                                                    : changed_term(operands[place]);
        return rules::call_term(term->name, std::move(operands));
      }
    }
    return term;
  }

  Random& random_;
  rules::Rule rule_;
};

}  // namespace taso::test
