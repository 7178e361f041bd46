#include "verifier/replay/rule_at_place.h"

#include <algorithm>

#include <fmt/format.h>

#include "ops/core/error.h"
#include "ops/text/literal.h"
#include "ops/text/operator_text.h"

namespace taso::verifier {
namespace {

/// An attribute as rules see it: integers (a truth value is 0 or 1), or a real number.
struct Quantity {
  std::vector<Dim> numbers;
  std::optional<double> real;
  bool operator==(const Quantity&) const = default;

  std::string text() const {
    if (real) return text_of_number(*real);
    return numbers.size() == 1 ? numbers[0].text() : ops::text_of(numbers);
  }
};

struct ToQuantity {
  Quantity operator()(bool truth) const { return {{Dim(truth ? 1 : 0)}, {}}; }
  Quantity operator()(std::int64_t number) const { return {{Dim(number)}, {}}; }
  Quantity operator()(double real) const { return {{}, real}; }
  Quantity operator()(const Dim& number) const { return {{number}, {}}; }
  Quantity operator()(ElementType) const { return {}; }
  Quantity operator()(const std::vector<std::int64_t>& list) const { return {{list.begin(), list.end()}, {}}; }
  Quantity operator()(const std::vector<Dim>& list) const { return {list, {}}; }
};

Quantity quantity_of(const Operator& op, std::string_view field) {
  for (const NamedField& named : fields_of(op))
    if (named.name == field) return std::visit(ToQuantity{}, named.value);
  throw Refusal{fmt::format("'{}' has no attribute '{}'", name_of(op), field)};
}

bool holds(const rules::Requirement& requirement) {
  const Dim &left = requirement.left, &right = requirement.right;
  const auto a = left.known(), b = right.known();
  switch (requirement.kind) {
    case rules::Requirement::Kind::equal: return left == right;
    case rules::Requirement::Kind::not_equal:
      return a && b ? *a != *b : surely_at_least(left, right + 1) || surely_at_least(right, left + 1);
    case rules::Requirement::Kind::at_least: return a && b ? *a >= *b : surely_at_least(left, right);
    case rules::Requirement::Kind::divides:
      return a && b ? *a > 0 && *b % *a == 0 : surely_at_least(left, 1) && exact_div(right, left).has_value();
  }
  return false;
}

class Place {
 public:
  Place(const rules::Property& property, const std::vector<FoundPart>& found, const std::vector<Type>& inputs,
        ElementType element)
      : property_(property), found_(found), inputs_(inputs), element_(element), bound_(property.variables().size()) {}

  GroundTarget run() {
    if (!is_floating(element_)) throw Refusal{"rules apply to floating-point numbers only"};
    for (const Type& type : inputs_)
      if (type.element != element_ || !type.shape) throw Refusal{"an input has no known rank, or another element type"};
    const rules::Rule& rule = property_.rule();
    for (std::size_t i = 0; i < rule.source.size(); ++i) bind(*rule.source[i], found_[i]);
    for (std::size_t i = 0; i < bound_.size(); ++i) {
      if (!bound_[i]) throw Refusal{fmt::format("nothing determines '{}'", property_.variables()[i])};
      target_.variables.emplace_back(property_.variables()[i], bound_[i]->text());
    }
    at_ = property_.at(choice());
    if (at_ == nullptr || !instance().target_fits)
      throw Refusal{"the rule says nothing about these ranks and attributes"};
    name_unknowns();
    check_requirements();
    for (std::size_t i = 0; i < rule.source.size(); ++i) check_source(instance().source[i], found_[i]);
    places_.resize(instance().nodes.size());
    for (const auto& [node, output] : instance().target) {
      add(node);
      target_.results.push_back(operand(node, output));
    }
    return std::move(target_);
  }

 private:
  const rules::Instance& instance() const { return at_->instance; }

  std::size_t place_of_variable(const std::string& name) const {
    const auto& names = property_.variables();
    const auto found = std::find(names.begin(), names.end(), name);
    check(found != names.end(), "a rule uses only its own variables");
    return static_cast<std::size_t>(found - names.begin());
  }

  // --- Binding variables ---

  void bind(const std::string& variable, Quantity value) {
    auto& known = bound_[place_of_variable(variable)];
    if (known && !(*known == value)) throw Refusal{fmt::format("'{}' would have two values", variable)};
    known = std::move(value);
  }

  void bind(const rules::Pattern& pattern, const FoundPart& part) {
    if (pattern.is_input()) return;
    check(part.op != nullptr && part.operands.size() == pattern.operands.size(), "parts have the form of the source");
    for (const auto& [field, term] : pattern.attributes) {
      const Quantity value = quantity_of(*part.op, field);
      if (term->kind == rules::Term::Kind::variable) bind(term->name, value);
      if (term->kind != rules::Term::Kind::list) continue;
      for (std::size_t i = 0; i < term->operands.size(); ++i) {
        if (term->operands[i]->kind != rules::Term::Kind::variable) continue;
        if (i >= value.numbers.size()) throw Refusal{fmt::format("a list of '{}' is too short", field)};
        bind(term->operands[i]->name, {{value.numbers[i]}, {}});
      }
    }
    for (std::size_t i = 0; i < part.operands.size(); ++i) bind(*pattern.operands[i], part.operands[i]);
  }

  // --- Choosing the instance of the rule ---

  rules::Property::Choice choice() const {
    rules::Property::Choice choice;
    for (const Type& type : inputs_) choice.ranks.push_back(type.shape->size());
    choice.ones.resize(inputs_.size());
    for (const auto& group : property_.broadcast_groups()) choose_ones(group, choice);
    for (std::size_t i = 0; i < bound_.size(); ++i) {
      auto& code = choice.values.emplace_back();
      if (property_.is_real(i)) continue;
      if (property_.holds_numbers(i)) {
        code.push_back(static_cast<std::uint32_t>(bound_[i]->numbers.size()));
        continue;
      }
      for (const Dim& number : bound_[i]->numbers) {
        constexpr std::int64_t beyond_any_rank = 1000;
        const std::int64_t known = number.known().value_or(beyond_any_rank);
        code.push_back(static_cast<std::uint32_t>(known < 0 ? beyond_any_rank : std::min(known, beyond_any_rank)));
      }
    }
    return choice;
  }

  /// A dimension of 1 counts as broadcast if another input has more there.
  void choose_ones(const std::vector<std::size_t>& group, rules::Property::Choice& choice) const {
    std::size_t rank = 0;
    for (const std::size_t input : group) rank = std::max(rank, choice.ranks[input]);
    const auto dim = [&](std::size_t input, std::size_t from_the_end) -> std::optional<Dim> {
      const Shape& shape = *inputs_[input].shape;
      if (from_the_end >= shape.size()) return std::nullopt;
      return shape[shape.size() - 1 - from_the_end];
    };
    for (const std::size_t input : group) {
      auto& ones = choice.ones[input];
      ones.assign(choice.ranks[input], false);
      for (std::size_t end = 0; end < rank; ++end) {
        const bool stretches = std::any_of(group.begin(), group.end(),
                                           [&](std::size_t other) { return dim(other, end).value_or(1) != Dim(1); });
        if (dim(input, end) == Dim(1) && stretches) ones[ones.size() - 1 - end] = true;
      }
    }
  }

  void name_unknowns() {
    for (std::size_t i = 0; i < at_->origins.size(); ++i) {
      const rules::PropertyInstance::Origin& origin = at_->origins[i];
      const std::vector<Dim>& from =
          origin.is_dimension ? *inputs_.at(origin.index).shape : bound_.at(origin.index)->numbers;
      if (origin.element >= from.size()) throw Refusal{"a list is shorter than in the rule"};
      unknowns_.emplace(instance().unknowns[i].name, from[origin.element]);
    }
  }

  Dim ground(const Dim& dim) const {
    return substitute(dim, [&](std::string_view name) -> std::optional<Dim> {
      const auto found = unknowns_.find(name);
      check(found != unknowns_.end(), "an instance uses only its own unknowns");
      return found->second;
    });
  }

  void check_requirements() {
    for (const rules::Unknown& unknown : instance().unknowns)
      if (!surely_at_least(unknowns_.at(unknown.name), unknown.least))
        throw Refusal{fmt::format("'{}' must be at least {}", unknown.name, unknown.least)};
    for (const auto* list : {&instance().hypotheses, &instance().obligations})
      for (const rules::Requirement& requirement : *list) {
        const rules::Requirement here{requirement.kind, ground(requirement.left), ground(requirement.right)};
        if (!holds(here))
          throw Refusal{fmt::format("{} does not hold: {}", rules::text_of(requirement), rules::text_of(here))};
        target_.conditions.push_back(rules::text_of(requirement) + ": " + rules::text_of(here));
      }
  }

  // --- Checking the source ---

  Quantity value_of(const rules::SymbolicField& field) const {
    if (const auto* truth = std::get_if<bool>(&field)) return {{Dim(*truth ? 1 : 0)}, {}};
    if (const auto* axis = std::get_if<std::int64_t>(&field)) return {{Dim(*axis)}, {}};
    if (const auto* axes = std::get_if<std::vector<std::int64_t>>(&field)) return {{axes->begin(), axes->end()}, {}};
    if (const auto* number = std::get_if<Dim>(&field)) return {{ground(*number)}, {}};
    if (const auto* real = std::get_if<rules::RealAttribute>(&field)) {
      if (real->variable.empty()) return {{}, real->value};
      return *bound_[place_of_variable(real->variable)];
    }
    Quantity list;
    for (const Dim& dim : std::get<std::vector<Dim>>(field)) list.numbers.push_back(ground(dim));
    return list;
  }

  void check_source(const rules::InstanceValue& value, const FoundPart& part) const {
    const rules::InstanceNode& node = instance().nodes[value.first];
    if (node.input || part.input) {
      if (node.input != part.input) throw Refusal{"the source of the rule does not match: another input"};
      return;
    }
    const std::string_view name = name_of(rules::prototype(node.op.kind));
    if (name_of(*part.op) != name || part.output != value.second || part.operands.size() != node.operands.size())
      throw Refusal{fmt::format("the source of the rule does not match: no '{}'", name)};
    const auto& fields = rules::symbolic_fields(node.op.kind);
    for (std::size_t i = 0; i < fields.size(); ++i) {
      const Quantity wanted = value_of(node.op.fields[i]), given = quantity_of(*part.op, fields[i].name);
      if (!(wanted == given))
        throw Refusal{fmt::format("the rule needs '{}' of '{}' to be {}, but it is {}", fields[i].name, name,
                                  wanted.text(), given.text())};
    }
    for (std::size_t i = 0; i < part.operands.size(); ++i) check_source(node.operands[i], part.operands[i]);
  }

  // --- The target ---

  GroundTarget::Operand operand(std::size_t node, std::size_t output) const {
    const auto& input = instance().nodes[node].input;
    if (input) return {true, *input, 0};
    return {false, *places_[node], output};
  }

  void add(std::size_t index) {
    const rules::InstanceNode& node = instance().nodes[index];
    if (node.input || places_[index]) return;
    GroundTarget::Node made{rules::prototype(node.op.kind), {}, {}};
    Shapes shapes;
    for (const auto& [from, output] : node.operands) {
      add(from);
      const auto& last = made.operands.emplace_back(operand(from, output));
      shapes.push_back(last.is_input ? *inputs_[last.index].shape : target_.nodes[last.index].shapes[last.output]);
    }
    set_field(made.op, "type", element_);  // only for those that have one
    const auto& fields = rules::symbolic_fields(node.op.kind);
    for (std::size_t i = 0; i < fields.size(); ++i) set(made.op, fields[i].name, value_of(node.op.fields[i]));
    made.shapes = infer(made.op, shapes);
    places_[index] = target_.nodes.size();
    target_.nodes.push_back(std::move(made));
  }

  /// Sets an attribute, in the form that the operator uses.
  static void set(Operator& op, std::string_view name, const Quantity& value) {
    std::vector<std::int64_t> numbers;
    for (const Dim& dim : value.numbers)
      if (dim.is_static()) numbers.push_back(dim.value());
    const bool is_static = numbers.size() == value.numbers.size();
    bool done = false;
    for (const NamedField& field : fields_of(op)) {
      if (field.name != name) continue;
      if (value.real) {
        done = set_field(op, name, *value.real);
      } else if (std::holds_alternative<bool>(field.value)) {
        done = is_static && numbers.size() == 1 && set_field(op, name, numbers[0] == 1);
      } else if (std::holds_alternative<std::int64_t>(field.value)) {
        done = is_static && numbers.size() == 1 && set_field(op, name, numbers[0]);
      } else if (std::holds_alternative<Dim>(field.value)) {
        done = value.numbers.size() == 1 && set_field(op, name, value.numbers[0]);
      } else if (std::holds_alternative<std::vector<std::int64_t>>(field.value)) {
        done = is_static && set_field(op, name, numbers);
      } else {
        done = set_field(op, name, value.numbers);
      }
    }
    if (!done) throw Refusal{fmt::format("'{}' of '{}' cannot be {}", name, name_of(op), value.text())};
  }

  const rules::Property& property_;
  const std::vector<FoundPart>& found_;
  const std::vector<Type>& inputs_;
  ElementType element_;
  std::vector<std::optional<Quantity>> bound_;  // by variable
  const rules::PropertyInstance* at_ = nullptr;
  std::map<std::string, Dim, std::less<>> unknowns_;
  std::vector<std::optional<std::size_t>> places_;  // of the instance's nodes in the target
  GroundTarget target_;
};

}  // namespace

GroundTarget rule_at_place(const rules::Property& rule, const std::vector<FoundPart>& found,
                           const std::vector<Type>& inputs, ElementType element) {
  try {
    return Place(rule, found, inputs, element).run();
  } catch (const ShapeError& error) {
    throw Refusal{fmt::format("the shapes do not fit: {}", error.what())};
  }
}

}  // namespace taso::verifier
