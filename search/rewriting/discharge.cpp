#include "search/rewriting/discharge.h"

#include <algorithm>

#include "ops/core/error.h"

namespace taso::search {
namespace {

/// The ranks, axes and broadcast dimensions of a match.
rules::Property::Choice choice_of(const Store& store, const Match& match) {
  const RewriteRule& rule = *match.rule;
  const rules::Property& property = rule.property();
  rules::Property::Choice choice;
  for (const ValueId input : match.inputs) choice.ranks.push_back(store.shape(input).size());
  choice.ones.resize(match.inputs.size());
  for (const auto& group : rule.broadcasts()) {
    std::size_t greatest = 0;
    for (const std::size_t input : group) greatest = std::max(greatest, choice.ranks[input]);
    for (const std::size_t input : group) choice.ones[input].assign(choice.ranks[input], false);
    for (std::size_t axis = 0; axis < greatest; ++axis) {
      // If all dimensions are 1, they are equal, which is not broadcasting.
      const auto at = [&](std::size_t input) -> const Dim* {
        const std::size_t missing = greatest - choice.ranks[input];
        return axis < missing ? nullptr : &store.shape(match.inputs[input])[axis - missing];
      };
      const bool some_wide = std::any_of(group.begin(), group.end(), [&](std::size_t input) {
        const Dim* dim = at(input);
        return dim != nullptr && *dim != Dim(1);
      });
      for (const std::size_t input : group)
        if (const Dim* dim = at(input); some_wide && dim != nullptr && *dim == Dim(1))
          choice.ones[input][axis - (greatest - choice.ranks[input])] = true;
    }
  }
  for (std::size_t i = 0; i < match.variables.size(); ++i) {
    const Attribute& value = match.variables[i];
    rules::FieldCode& code = choice.values.emplace_back();
    if (property.is_real(i)) continue;
    if (property.holds_numbers(i)) {
      code.push_back(static_cast<std::uint32_t>(value.numbers.size()));
      continue;
    }
    for (const Dim& number : value.numbers) {
      const auto known = number.known();
      // An unknown axis, or one out of range, is in no domain.
      code.push_back(known && *known >= 0 && *known < 1000 ? static_cast<std::uint32_t>(*known) : 1000);
    }
  }
  return choice;
}

/// An instance with its unknowns replaced by the dimensions and attributes of the model.
class Grounding {
 public:
  Grounding(const rules::PropertyInstance& instance, const std::vector<Dim>& unknowns)
      : instance_(instance), unknowns_(unknowns) {
    for (const Dim& dim : unknowns_) {
      is_static_ = is_static_ && dim.is_static();
      if (is_static_) numbers_.push_back(dim.value());
    }
    if (is_static_) return;
    for (std::size_t i = 0; i < unknowns_.size(); ++i)
      by_name_.emplace(instance_.instance.unknowns[i].name, unknowns_[i]);
  }

  bool requirements_hold() const {
    if (is_static_)
      return std::all_of(instance_.requirements.begin(), instance_.requirements.end(), [&](const auto& requirement) {
        const auto left = requirement.left.evaluate(numbers_), right = requirement.right.evaluate(numbers_);
        return left && right && holds_for_all({requirement.kind, *left, *right});
      });
    const rules::Instance& instance = instance_.instance;
    for (std::size_t i = 0; i < unknowns_.size(); ++i)
      if (!surely_at_least(unknowns_[i], instance.unknowns[i].least)) return false;
    const auto holds_here = [&](const rules::Requirement& requirement) { return holds_for_all(ground(requirement)); };
    return std::all_of(instance.hypotheses.begin(), instance.hypotheses.end(), holds_here) &&
           std::all_of(instance.obligations.begin(), instance.obligations.end(), holds_here);
  }

  rules::Requirement ground(const rules::Requirement& requirement) const {
    return {requirement.kind, ground(requirement.left), ground(requirement.right)};
  }
  Dim ground(const Dim& dim) const {
    if (dim.is_static()) return dim;
    return substitute(dim, [&](std::string_view name) -> std::optional<Dim> {
      const auto found = by_name_.find(name);
      return found == by_name_.end() ? std::nullopt : std::optional(found->second);
    });
  }

  /// The numbers of a numeric field; nothing if one overflows.
  std::optional<std::vector<Dim>> field(std::size_t node, std::size_t index) const {
    std::vector<Dim> result;
    if (is_static_) {
      for (const rules::CompiledDim& dim : instance_.fields[node][index]) {
        const auto number = dim.evaluate(numbers_);
        if (!number) return std::nullopt;
        result.emplace_back(*number);
      }
      return result;
    }
    const rules::SymbolicField& symbolic = instance_.instance.nodes[node].op.fields[index];
    if (const auto* number = std::get_if<Dim>(&symbolic)) result.push_back(ground(*number));
    if (const auto* list = std::get_if<std::vector<Dim>>(&symbolic))
      for (const Dim& dim : *list) result.push_back(ground(dim));
    return result;
  }

 private:
  static bool holds_for_all(const rules::Requirement& requirement) {
    const Dim &left = requirement.left, &right = requirement.right;
    switch (requirement.kind) {
      case rules::Requirement::Kind::equal: return left == right;
      case rules::Requirement::Kind::not_equal:
        if (left.is_static() && right.is_static()) return left != right;
        return surely_at_least(left, right + 1) || surely_at_least(right, left + 1);
      case rules::Requirement::Kind::at_least: return surely_at_least(left, right);
      case rules::Requirement::Kind::divides:
        if (left.is_static() && right.is_static()) return left.value() > 0 && right.value() % left.value() == 0;
        return surely_at_least(left, 1) && exact_div(right, left).has_value();
    }
    return false;
  }

  const rules::PropertyInstance& instance_;
  const std::vector<Dim>& unknowns_;
  bool is_static_ = true;
  std::vector<std::int64_t> numbers_;
  std::map<std::string, Dim, std::less<>> by_name_;
};

class Discharge {
 public:
  Discharge(Store& store, Match& match, ElementType element) : store_(store), match_(match), element_(element) {}

  bool run() {
    const rules::Property& property = match_.rule->property();
    match_.instance = property.at(choice_of(store_, match_));
    if (match_.instance == nullptr || !instance().target_fits) return false;
    for (const auto& origin : match_.instance->origins) {
      const std::vector<Dim>& from =
          origin.is_dimension ? store_.shape(match_.inputs[origin.index]) : match_.variables[origin.index].numbers;
      if (origin.element >= from.size()) return false;
      match_.unknowns.push_back(from[origin.element]);
    }
    const Grounding grounding(*match_.instance, match_.unknowns);
    if (!grounding.requirements_hold()) return false;
    const rules::Instance& instance = match_.instance->instance;
    for (std::size_t i = 0; i < match_.roots.size(); ++i)
      if (!fields_agree(grounding, match_.rule->roots()[i], instance.source[i].first)) return false;
    return build_target(grounding);
  }

 private:
  const rules::Instance& instance() const { return match_.instance->instance; }

  const double* real_of(const rules::RealAttribute& attribute) const {
    if (attribute.variable.empty()) return &attribute.value;
    const auto& variables = match_.rule->property().variables();
    const auto found = std::find(variables.begin(), variables.end(), attribute.variable);
    check(found != variables.end(), "a real attribute is a variable of the rule");
    return &match_.variables[static_cast<std::size_t>(found - variables.begin())].real;
  }

  /// The value of one field of one node of the instance, in the form of the graph's operators.
  std::optional<Attribute> attribute_of(const Grounding& grounding, std::size_t node, std::size_t index) const {
    const rules::SymbolicField& field = instance().nodes[node].op.fields[index];
    if (const auto* truth = std::get_if<bool>(&field)) return Attribute{{*truth ? 1 : 0}, 0, false};
    if (const auto* axis = std::get_if<std::int64_t>(&field)) return Attribute{{*axis}, 0, false};
    if (const auto* axes = std::get_if<std::vector<std::int64_t>>(&field))
      return Attribute{std::vector<Dim>(axes->begin(), axes->end()), 0, false};
    if (const auto* real = std::get_if<rules::RealAttribute>(&field)) return Attribute{{}, *real_of(*real), true};
    auto numbers = grounding.field(node, index);
    if (!numbers) return std::nullopt;
    return Attribute{std::move(*numbers), 0, false};
  }

  /// Whether the source's attributes in the rule are those in the graph.
  bool fields_agree(const Grounding& grounding, std::size_t source, std::size_t node) const {
    const SourceNode& pattern = match_.rule->nodes()[source];
    const rules::InstanceNode& symbolic = instance().nodes[node];
    if (pattern.input) return symbolic.input == pattern.input;
    if (symbolic.input || symbolic.op.kind != pattern.kind) return false;
    const KnownOperator& op = *store_[match_.source[source]].op;
    for (std::size_t i = 0; i < op.attributes.size(); ++i) {
      const auto wanted = attribute_of(grounding, node, i);
      if (!wanted || !(*wanted == op.attributes[i])) return false;
    }
    for (std::size_t i = 0; i < pattern.operands.size(); ++i)
      if (!fields_agree(grounding, pattern.operands[i], symbolic.operands[i].first)) return false;
    return true;
  }

  bool build_target(const Grounding& grounding) {
    places_.assign(instance().nodes.size(), std::nullopt);
    for (const auto& [node, output] : instance().target) {
      if (!add(grounding, node)) return false;
      match_.results.push_back(operand_of(node, output));
    }
    for (std::size_t i = 0; i < match_.roots.size(); ++i) {
      const TargetNode::Operand& result = match_.results[i];
      const Type& wanted = store_.type(match_.roots[i]);
      const Shape& shape =
          result.is_input ? store_.shape(match_.inputs[result.index]) : shapes_[result.index][result.output];
      if (!wanted.shape || *wanted.shape != shape) return false;
    }
    return true;
  }

  TargetNode::Operand operand_of(std::size_t node, std::size_t output) const {
    const rules::InstanceNode& symbolic = instance().nodes[node];
    if (symbolic.input) return {true, *symbolic.input, 0};
    return {false, *places_[node], output};
  }

  bool add(const Grounding& grounding, std::size_t node) {
    const rules::InstanceNode& symbolic = instance().nodes[node];
    if (symbolic.input || places_[node]) return true;
    TargetNode target;
    Shapes operands;
    for (const auto& [operand, output] : symbolic.operands) {
      if (!add(grounding, operand)) return false;
      target.operands.push_back(operand_of(operand, output));
      const auto& last = target.operands.back();
      operands.push_back(last.is_input ? store_.shape(match_.inputs[last.index]) : shapes_[last.index][last.output]);
    }
    Operator op = rules::prototype(symbolic.op.kind);
    set_field(op, "type", element_);  // for operators that have one
    const auto& names = rules::symbolic_fields(symbolic.op.kind);
    for (std::size_t i = 0; i < names.size(); ++i) {
      const auto value = attribute_of(grounding, node, i);
      if (!value || !set(op, names[i], *value, symbolic.op.fields[i])) return false;
    }
    try {
      shapes_.push_back(infer(op, operands));
    } catch (const ShapeError&) {
      return false;
    }
    target.op = &store_.known(op);
    places_[node] = match_.target.size();
    match_.target.push_back(std::move(target));
    return true;
  }

  static bool set(Operator& op, const rules::SymbolicFieldName& name, const Attribute& value,
                  const rules::SymbolicField& form) {
    if (value.is_real) return set_field(op, name.name, value.real);
    if (std::holds_alternative<bool>(form)) return set_field(op, name.name, value.numbers[0] == Dim(1));
    const bool is_static =
        std::all_of(value.numbers.begin(), value.numbers.end(), [](const Dim& dim) { return dim.is_static(); });
    const bool is_list =
        std::holds_alternative<std::vector<Dim>>(form) || std::holds_alternative<std::vector<std::int64_t>>(form);
    if (!is_list)
      return is_static ? set_field(op, name.name, value.numbers[0].value())
                       : set_field(op, name.name, value.numbers[0]);
    if (!is_static) return set_field(op, name.name, value.numbers);
    std::vector<std::int64_t> list;
    for (const Dim& dim : value.numbers) list.push_back(dim.value());
    return set_field(op, name.name, list);
  }

  Store& store_;
  Match& match_;
  ElementType element_;
  std::vector<std::optional<std::size_t>> places_;  // of the instance's nodes among the target's
  std::vector<Shapes> shapes_;                      // of the target's nodes
};

}  // namespace

bool discharge(Store& store, Match& match, ElementType element) {
  try {
    return Discharge(store, match, element).run();
  } catch (const ShapeError&) {
    return false;  // a dimension overflows or is too complicated
  }
}

std::vector<std::string> conditions_of(const Match& match) {
  const rules::Instance& instance = match.instance->instance;
  std::map<std::string, Dim, std::less<>> by_name;
  for (std::size_t i = 0; i < match.unknowns.size(); ++i) by_name.emplace(instance.unknowns[i].name, match.unknowns[i]);
  const auto ground = [&](const Dim& dim) {
    return substitute(dim, [&](std::string_view name) -> std::optional<Dim> {
      const auto found = by_name.find(name);
      return found == by_name.end() ? std::nullopt : std::optional(found->second);
    });
  };
  std::vector<std::string> texts;
  for (const auto* list : {&instance.hypotheses, &instance.obligations})
    for (const rules::Requirement& requirement : *list)
      texts.push_back(
          rules::text_of(requirement) + ": " +
          rules::text_of(rules::Requirement{requirement.kind, ground(requirement.left), ground(requirement.right)}));
  return texts;
}

}  // namespace taso::search
