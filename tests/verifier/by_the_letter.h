// Tries a rule as it is written, on numbers alone: no unknowns, no equations, no instances. Where the source is
// well-formed and the conditions hold, the target must compute the same. Finds mistakes of solving shapes.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "ops/core/error.h"
#include "ops/core/random.h"
#include "rules/instance/assignment.h"
#include "rules/instance/term_value.h"
#include "rules/language/rule_text.h"
#include "verifier/refutation/rounded.h"

namespace taso::test {

/// Numbers for everything that is open in a rule.
struct Numbers {
  std::map<std::string, Extents> shapes;
  std::map<std::string, rules::TermValue> variables;
};

/// Chooses at random and records the choices.
class RandomChooser : public rules::Chooser {
 public:
  explicit RandomChooser(Random& random) : random_(random) {}
  std::size_t rank(const std::string& input, std::size_t least, std::size_t greatest) override {
    return ranks[input] = static_cast<std::size_t>(
               random_.between(static_cast<std::int64_t>(least), static_cast<std::int64_t>(greatest)));
  }
  std::size_t value(const std::string& variable, const std::vector<std::vector<std::int64_t>>& domain) override {
    const std::size_t choice = random_.below(domain.size());
    values[variable] = domain[choice];
    return choice;
  }
  std::size_t length(const std::string&, std::size_t least, std::size_t greatest) override {
    return static_cast<std::size_t>(
        random_.between(static_cast<std::int64_t>(least), static_cast<std::int64_t>(greatest)));
  }
  bool is_one(const std::string&, std::size_t) override { return random_.chance(0.3); }
  bool is_non_negative(const Dim&) override { return random_.chance(0.5); }

  std::map<std::string, std::size_t> ranks;
  std::map<std::string, std::vector<std::int64_t>> values;  ///< axes, switches, lists of axes

 private:
  Random& random_;
};

class ByTheLetter {
 public:
  ByTheLetter(const rules::Rule& rule, std::uint64_t seed) : rule_(rule), random_(seed) {
    for (const auto* side : {&rule.source, &rule.target})
      for (const rules::PatternPtr& pattern : *side) learn(*pattern);
    for (const rules::Instance& one : rules::instances(rule)) ranks_.insert(ranks_of(one));
  }

  /// A description of numbers at which the rule fails; empty if none were found. Starts from numbers that fit, and
  /// changes them as long as the source stays well-formed.
  std::string counterexample(std::size_t starts, std::size_t changes) {
    for (std::size_t start = 0; start < starts; ++start) {
      const auto first = numbers_that_fit();
      if (!first) continue;
      // Dimensions that broadcast here may broadcast later; others must not.
      broadcasting_.clear();
      learning_ = true;
      elements_.clear();
      const bool fits = values_of<verifier::Rounded>(rule_.source, *first, false).has_value() &&
                        (!is_axiom() || values_of<verifier::Rounded>(rule_.target, *first, true).has_value());
      learning_ = false;
      if (!fits) continue;
      Numbers numbers = *first;
      for (std::size_t change = 0; change <= changes; ++change) {
        Numbers next = numbers;
        if (change > 0)
          for (std::int64_t i = random_.between(1, 3); i > 0; --i) nudge(next);
        if (!meets_conditions(next)) continue;
        if (auto failure = failure_at(next)) {
          if (!failure->empty()) return describe(next) + *failure;
          ++tried;
          numbers = std::move(next);
        }
      }
    }
    return {};
  }

  std::size_t tried = 0;  ///< how often both sides were compared

 private:
  static std::vector<std::size_t> ranks_of(const rules::Instance& one) {
    std::vector<std::size_t> ranks;
    for (std::size_t i = 0; i < one.inputs.size(); ++i) ranks.push_back(one.nodes[i].shapes[0].size());
    return ranks;
  }
  bool is_axiom() const { return rule_.kind == rules::Rule::Kind::axiom; }

  void learn(const rules::Pattern& pattern) {
    if (pattern.is_input()) return;
    for (const auto& [name, term] : pattern.attributes)
      if (term->kind == rules::Term::Kind::variable) fields_[term->name] = name;
    for (const rules::PatternPtr& operand : pattern.operands) learn(*operand);
  }

  /// Numbers for one instance at random choices.
  std::optional<Numbers> numbers_that_fit() {
    for (int attempt = 0; attempt < 200; ++attempt) {
      RandomChooser chooser(random_);
      const auto one = rules::instance(rule_, chooser);
      if (!one || !ranks_.contains(ranks_of(*one))) continue;
      const auto assignment = rules::AssignmentSampler(*one).sample(random_, 3);
      if (!assignment) continue;
      const rules::Places places = rules::places_of(*one);
      std::map<std::string, std::int64_t> values;
      for (std::size_t i = 0; i < one->unknowns.size(); ++i) values[one->unknowns[i].name] = assignment->unknowns[i];
      for (const auto& [name, dim] : one->determined)
        if (const auto value = rules::CompiledDim(dim, places).evaluate(assignment->unknowns)) values[name] = *value;
      Numbers numbers;
      for (std::size_t i = 0; i < one->inputs.size(); ++i) {
        Extents extents;
        for (const Dim& dim : one->nodes[i].shapes[0])
          extents.push_back(rules::CompiledDim(dim, places).evaluate(assignment->unknowns).value_or(1));
        numbers.shapes[one->inputs[i]] = std::move(extents);
      }
      for (const auto& [variable, field] : fields_) {
        if (const auto chosen = chooser.values.find(variable); chosen != chooser.values.end()) {
          const auto& list = chosen->second;
          if (field == "axis")
            numbers.variables[variable] = Dim(list[0]);
          else if (field == "axes" || field == "permutation")
            numbers.variables[variable] = std::vector<Dim>(list.begin(), list.end());
          else
            numbers.variables[variable] = list[0] != 0;
          continue;
        }
        const auto real = std::find(one->real_variables.begin(), one->real_variables.end(), variable);
        if (real != one->real_variables.end()) {
          numbers.variables[variable] =
              rules::RealAttribute{{}, assignment->reals[static_cast<std::size_t>(real - one->real_variables.begin())]};
          continue;
        }
        if (const auto single = values.find(variable); single != values.end()) {
          numbers.variables[variable] = Dim(single->second);
          continue;
        }
        std::vector<Dim> list;
        for (std::size_t i = 0; values.contains(variable + "." + std::to_string(i)); ++i)
          list.push_back(values.at(variable + "." + std::to_string(i)));
        numbers.variables[variable] = list;
      }
      return numbers;
    }
    return std::nullopt;
  }

  /// Makes one dimension or one number of an attribute a little larger or smaller.
  void nudge(Numbers& numbers) {
    const auto changed = [&](std::int64_t value, std::int64_t least) {
      return std::max(least, random_.chance(0.2) ? value * 2 : value + random_.pick<std::int64_t>({-2, -1, 1, 1, 2}));
    };
    const std::size_t choice = random_.below(numbers.shapes.size() + numbers.variables.size());
    if (choice < numbers.shapes.size()) {
      auto place = numbers.shapes.begin();
      std::advance(place, static_cast<std::ptrdiff_t>(choice));
      if (place->second.empty()) return;
      std::int64_t& size = place->second[random_.below(place->second.size())];
      const std::int64_t before = size;
      size = changed(size, 1);
      // Equal dimensions are often meant to be: change all of them together.
      if (random_.chance(0.5))
        for (auto& [input, extents] : numbers.shapes)
          for (std::int64_t& other : extents)
            if (other == before && random_.chance(0.7)) other = size;
      return;
    }
    auto place = numbers.variables.begin();
    std::advance(place, static_cast<std::ptrdiff_t>(choice - numbers.shapes.size()));
    const std::string& field = fields_[place->first];
    if (field == "axis" || field == "axes" || field == "permutation") return;
    if (auto* number = std::get_if<Dim>(&place->second)) *number = changed(number->value(), 0);
    if (auto* list = std::get_if<std::vector<Dim>>(&place->second); list && !list->empty()) {
      Dim& element = (*list)[random_.below(list->size())];
      element = changed(element.value(), 0);
    }
  }

  rules::TermContext context(const Numbers& numbers) {
    rules::TermContext result;
    result.shape = [&numbers](const std::string& input) { return shape_of(numbers.shapes.at(input)); };
    result.variable = [&numbers](const std::string& variable, std::size_t) {
      const auto found = numbers.variables.find(variable);
      if (found == numbers.variables.end()) throw rules::NoValue{};
      return found->second;
    };
    result.is_non_negative = [](const Dim& number) { return number.value() >= 0; };
    result.require = [](const rules::Requirement& requirement) {
      if (!rules::holds(requirement, [](std::string_view) { return std::int64_t{0}; })) throw rules::NoValue{};
    };
    return result;
  }

  bool meets_conditions(const Numbers& numbers) {
    try {
      const rules::TermContext terms = context(numbers);
      return std::all_of(rule_.conditions.begin(), rule_.conditions.end(),
                         [&](const rules::Condition& condition) { return meets(condition, terms, numbers); });
    } catch (const rules::NoValue&) {
      return false;
    } catch (const rules::Undecided&) {
      return false;
    } catch (const InputError&) {
      return false;
    }
  }
  static bool meets(const rules::Condition& condition, const rules::TermContext& terms, const Numbers& numbers) {
    using Relation = rules::Condition::Relation;
    if (condition.relation == Relation::broadcast) {
      Extents all;
      for (const std::string& input : condition.inputs) all = broadcast(all, numbers.shapes.at(input));
      return true;
    }
    const rules::TermValue left = rules::evaluate(*condition.left, terms);
    if (condition.relation == Relation::even || condition.relation == Relation::odd) {
      const auto list = numbers_in(left, 1);
      return std::all_of(list.begin(), list.end(), [&](std::int64_t number) {
        return (number % 2 == 0) == (condition.relation == Relation::even);
      });
    }
    const rules::TermValue right = rules::evaluate(*condition.right, terms);
    if (std::holds_alternative<bool>(left) || std::holds_alternative<bool>(right))
      return (left == right) == (condition.relation == Relation::equal);
    const std::size_t size = std::holds_alternative<std::vector<Dim>>(left)    ? rules::as_list(left).size()
                             : std::holds_alternative<std::vector<Dim>>(right) ? rules::as_list(right).size()
                                                                               : 1;
    const auto a = numbers_in(left, size), b = numbers_in(right, size);
    if (a.size() != b.size()) return condition.relation == Relation::not_equal;
    for (std::size_t i = 0; i < a.size(); ++i) {
      switch (condition.relation) {
        case Relation::equal:
          if (a[i] != b[i]) return false;
          break;
        case Relation::not_equal:
          if (a[i] == b[i]) return false;
          break;
        case Relation::at_most:
          if (a[i] > b[i]) return false;
          break;
        case Relation::less:
          if (a[i] >= b[i]) return false;
          break;
        case Relation::divides:
          if (a[i] < 1 || b[i] % a[i] != 0) return false;
          break;
        default: return false;
      }
    }
    return true;
  }
  static std::vector<std::int64_t> numbers_in(const rules::TermValue& value, std::size_t size) {
    if (const auto* number = std::get_if<Dim>(&value)) return std::vector<std::int64_t>(size, number->value());
    return rules::as_integers(value);
  }

  // --- Evaluation ---

  struct IllFormed {
    std::string reason;
  };
  struct TooLarge {};

  /// Nothing if the rule does not cover these numbers; otherwise why it fails, or an empty text.
  std::optional<std::string> failure_at(const Numbers& numbers) {
    try {
      return compare(numbers);
    } catch (const TooLarge&) {
      return std::nullopt;
    }
  }
  std::optional<std::string> compare(const Numbers& numbers) {
    for (const auto& [input, extents] : numbers.shapes)
      if (count(extents) > 400) return std::nullopt;
    elements_.clear();
    const auto source = values_of<verifier::Rounded>(rule_.source, numbers, false);
    if (!source) return std::nullopt;
    const auto target = values_of<verifier::Rounded>(rule_.target, numbers, true);
    // A property covers numbers at which both sides are well-formed.
    if (!target && is_axiom()) return std::nullopt;
    if (!target) return "the target is not well-formed: " + reason_;
    for (std::size_t i = 0; i < source->size(); ++i) {
      const ops::Tensor<verifier::Rounded>&a = (*source)[i], &b = (*target)[i];
      if (a.extents != b.extents)
        return "the results have different shapes: " + text_of(a.extents) + " and " + text_of(b.extents);
      for (std::size_t k = 0; k < a.data.size(); ++k)
        if (verifier::is_worse(a.data[k], b.data[k]) || (is_axiom() && verifier::is_worse(b.data[k], a.data[k])))
          return "results differ: " + std::to_string(a.data[k].value) + " and " + std::to_string(b.data[k].value);
    }
    return "";
  }

  template <class S>
  std::optional<std::vector<ops::Tensor<S>>> values_of(const std::vector<rules::PatternPtr>& side,
                                                       const Numbers& numbers, bool in_target) {
    try {
      std::vector<ops::Tensor<S>> results;
      for (std::size_t i = 0; i < side.size(); ++i)
        results.push_back(value<S>(*side[i], numbers, in_target, std::to_string(i)));
      return results;
    } catch (const ShapeError& error) {
      reason_ = error.what();
    } catch (const IllFormed& ill) {
      reason_ = ill.reason;
    } catch (const rules::NoValue&) {
      reason_ = "a term has no value";
    } catch (const rules::Undecided&) {
      reason_ = "a term has no value";
    } catch (const TooLarge&) {
      if (!learning_) throw;
    }
    return std::nullopt;
  }

  template <class S>
  ops::Tensor<S> value(const rules::Pattern& pattern, const Numbers& numbers, bool in_target, const std::string& path) {
    if (pattern.is_input()) {
      auto& tensor = elements_[pattern.input];
      const Extents& extents = numbers.shapes.at(pattern.input);
      if (!tensor || tensor->extents != extents) {
        tensor = ops::Tensor<S>(extents, Math<S>::constant(0));
        for (S& element : tensor->data) element = Math<S>::constant(static_cast<double>(random_.between(-4, 4)));
      }
      return *tensor;
    }
    std::vector<ops::Tensor<S>> operands;
    for (std::size_t i = 0; i < pattern.operands.size(); ++i)
      operands.push_back(value<S>(*pattern.operands[i], numbers, in_target, path + "." + std::to_string(i)));
    const Operator op = operator_of(pattern, numbers, operands);
    if (!in_target || is_axiom()) watch_broadcast(pattern, operands, (in_target ? "target " : "source ") + path);
    const Shapes shapes = shapes_of<S>(operands);
    for (const Shape& shape : infer(op, shapes)) {
      if (size_estimate(shape) > 2000) throw TooLarge{};
      if (count(extents_of(shape)) == 0) throw IllFormed{"a result has no elements"};
    }
    if (work_of(op, shapes).flops > 1e5) throw TooLarge{};
    auto results = ops::evaluate<S>(op, operands);
    return std::move(results[pattern.output]);
  }

  /// A dimension of 1 broadcasts against a larger one only if it did so from the start.
  template <class S>
  void watch_broadcast(const rules::Pattern& pattern, const std::vector<ops::Tensor<S>>& operands,
                       const std::string& path) {
    static const std::set<std::string_view> pairs{"add", "sub", "mul",    "div",       "max",
                                                  "min", "pow", "matmul", "layer_norm"};
    if (!pairs.contains(pattern.op)) return;
    const std::size_t ends = pattern.op == "matmul" ? 2 : 0;
    for (std::size_t second = 1; second < operands.size(); ++second) {
      const Extents &a = operands[0].extents, &b = operands[second].extents;
      for (std::size_t i = ends; i < std::min(a.size(), b.size()); ++i) {
        const std::int64_t left = a[a.size() - 1 - i], right = b[b.size() - 1 - i];
        const std::string place = path + ":" + std::to_string(second) + ":" + std::to_string(i);
        if (learning_ && left != right) broadcasting_.insert(place);
        if (!learning_ && left != right && !broadcasting_.contains(place)) throw IllFormed{"it broadcasts"};
      }
    }
  }

  template <class S>
  Operator operator_of(const rules::Pattern& pattern, const Numbers& numbers,
                       const std::vector<ops::Tensor<S>>& operands) {
    Operator op = *operator_named(pattern.op);
    const std::size_t rank = operands.empty() ? 0 : operands[0].rank();
    const std::size_t spatial = rank < 2 ? 0 : rank - 2;
    const rules::TermContext terms = context(numbers);
    for (const NamedField& field : fields_of(op)) {
      const bool of_windows = field.name == "strides" || field.name == "dilations" || field.name == "output_padding" ||
                              field.name == "kernel";
      const std::size_t length = of_windows ? spatial : field.name == "pads" ? 2 * spatial : rank;
      const auto given = std::find_if(pattern.attributes.begin(), pattern.attributes.end(),
                                      [&](const auto& attribute) { return attribute.first == field.name; });
      if (given == pattern.attributes.end()) {
        const bool ones = field.name == "strides" || field.name == "dilations";
        const bool zeros =
            field.name == "pads" || field.name == "output_padding" || field.name == "before" || field.name == "after";
        if (ones || zeros) set_field(op, field.name, std::vector<std::int64_t>(length, ones ? 1 : 0));
        continue;
      }
      const rules::TermValue value = evaluate(*given->second, terms, length);
      FieldValue number;
      if (const auto* flag = std::get_if<bool>(&value)) number = *flag;
      if (const auto* real = std::get_if<rules::RealAttribute>(&value)) number = real->value;
      if (const auto* list = std::get_if<std::vector<Dim>>(&value)) number = extents_of(*list);
      if (const auto* single = std::get_if<Dim>(&value)) {
        const bool is_list = std::holds_alternative<std::vector<std::int64_t>>(field.value) ||
                             std::holds_alternative<std::vector<Dim>>(field.value);
        number = is_list ? FieldValue(std::vector<std::int64_t>(length, single->value())) : FieldValue(single->value());
      }
      check(set_field(op, field.name, number), "an attribute has the kind that its operator needs");
    }
    return op;
  }

  std::string describe(const Numbers& numbers) const {
    std::string text = "by the letter, at ";
    for (const auto& [input, extents] : numbers.shapes) text += input + text_of(extents) + " ";
    for (const auto& [name, value] : numbers.variables) {
      if (const auto* number = std::get_if<Dim>(&value)) text += name + " = " + number->text() + " ";
      if (const auto* list = std::get_if<std::vector<Dim>>(&value)) text += name + " = " + text_of(*list) + " ";
      if (const auto* flag = std::get_if<bool>(&value)) text += name + (*flag ? " = true " : " = false ");
    }
    return text + ": ";
  }

  const rules::Rule& rule_;
  Random random_;
  std::map<std::string, std::string> fields_;  // the field that a variable stands for
  std::set<std::vector<std::size_t>> ranks_;   // covered by the rule
  std::map<std::string, std::optional<ops::Tensor<verifier::Rounded>>> elements_;
  std::set<std::string> broadcasting_;
  bool learning_ = false;
  std::string reason_;
};

}  // namespace taso::test
