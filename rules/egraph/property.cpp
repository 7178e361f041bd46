#include "rules/egraph/property.h"

#include <algorithm>
#include <functional>

#include "ops/core/error.h"
#include "rules/instance/coverage.h"
#include "rules/instance/term_value.h"

namespace taso::rules {
namespace {

void visit_attributes(const std::vector<PatternPtr>& patterns,
                      const std::function<void(std::size_t kind, const std::string& field, const Term&)>& visit) {
  for (const PatternPtr& pattern : patterns) {
    if (pattern->is_input()) continue;
    const auto kind = kind_named(pattern->op);
    check(kind.has_value(), "the parser accepts only known operators");
    for (const auto& [name, term] : pattern->attributes) visit(*kind, name, *term);
    visit_attributes(pattern->operands, visit);
  }
}

const SymbolicField& sample_of(std::size_t kind, std::string_view name) {
  for (const SymbolicFieldName& field : symbolic_fields(kind))
    if (field.name == name) return field.sample;
  throw InputError("an operator has no field '" + std::string(name) + "'");
}

bool is_number(const SymbolicField& field) {
  return std::holds_alternative<Dim>(field) || std::holds_alternative<std::vector<Dim>>(field);
}

/// The code of a literal term that takes part in choosing an instance.
std::optional<FieldCode> known_code(const SymbolicField& sample, const Term& term) {
  const auto number = [](const Term& t) { return static_cast<std::uint32_t>(t.integer); };
  if (std::holds_alternative<bool>(sample) && term.kind == Term::Kind::boolean) return FieldCode{number(term)};
  if (std::holds_alternative<std::int64_t>(sample) && term.kind == Term::Kind::integer) return FieldCode{number(term)};
  if (std::holds_alternative<std::vector<std::int64_t>>(sample) && term.kind == Term::Kind::list) {
    FieldCode code;
    for (const TermPtr& element : term.operands) {
      if (element->kind != Term::Kind::integer) return std::nullopt;
      code.push_back(number(*element));
    }
    return code;
  }
  return std::nullopt;
}

/// Answers with what a match has bound.
class Bound : public Chooser {
 public:
  Bound(const std::vector<std::string>& inputs, const std::vector<std::string>& variables,
        const Property::Choice& choice)
      : inputs_(inputs), variables_(variables), choice_(choice) {}

  std::size_t rank(const std::string& input, std::size_t least, std::size_t greatest) override {
    const std::size_t rank = choice_.ranks[place(inputs_, input)];
    if (rank < least || rank > greatest) throw Misfit{};
    return rank;
  }
  std::size_t value(const std::string& variable, const std::vector<std::vector<std::int64_t>>& domain) override {
    const FieldCode& code = choice_.values[place(variables_, variable)];
    for (std::size_t i = 0; i < domain.size(); ++i)
      if (std::equal(domain[i].begin(), domain[i].end(), code.begin(), code.end())) return i;
    throw Misfit{};
  }
  std::size_t length(const std::string& variable, std::size_t least, std::size_t greatest) override {
    const std::size_t length = choice_.values[place(variables_, variable)].at(0);
    if (length < least || length > greatest) throw Misfit{};
    return length;
  }
  bool is_one(const std::string& input, std::size_t axis) override {
    return choice_.ones[place(inputs_, input)].at(axis);
  }
  bool is_non_negative(const Dim&) override { throw Misfit{}; }

  struct Misfit {};

 private:
  static std::size_t place(const std::vector<std::string>& names, const std::string& name) {
    const auto found = std::find(names.begin(), names.end(), name);
    check(found != names.end(), "a property uses only its own names");
    return static_cast<std::size_t>(found - names.begin());
  }
  const std::vector<std::string>& inputs_;
  const std::vector<std::string>& variables_;
  const Property::Choice& choice_;
};

}  // namespace

Property::Property(Rule rule) : Property(rule, rule) {}

Property::Property(Rule axiom, Rule proved)
    : rule_(std::move(axiom)), proved_(std::move(proved)), inputs_(rule_.inputs()) {
  const auto same = [](const PatternPtr& a, const PatternPtr& b) { return *a == *b; };
  backwards_ =
      !std::equal(rule_.source.begin(), rule_.source.end(), proved_.source.begin(), proved_.source.end(), same);
  check(rule_.kind == Rule::Kind::axiom, "a property is an axiom");
  const std::function<void(std::size_t, const std::string&, const Term&)> learn =
      [&](std::size_t kind, const std::string& field, const Term& term) {
        if (term.kind == Term::Kind::list)
          for (const TermPtr& element : term.operands)
            if (element->kind == Term::Kind::variable) learn(kind, field, *element);
        if (term.kind != Term::Kind::variable) return;
        if (std::find(variables_.begin(), variables_.end(), term.name) != variables_.end()) return;
        variables_.push_back(term.name);
        holds_numbers_.push_back(is_number(sample_of(kind, field)));
        is_real_.push_back(std::holds_alternative<RealAttribute>(sample_of(kind, field)));
      };
  visit_attributes(rule_.source, learn);
  visit_attributes(rule_.target, learn);
  broadcast_.assign(inputs_.size(), false);
  for (const Condition& condition : rule_.conditions) {
    std::vector<std::size_t> group;
    for (const std::string& input : condition.inputs) {
      group.push_back(static_cast<std::size_t>(std::find(inputs_.begin(), inputs_.end(), input) - inputs_.begin()));
      broadcast_[group.back()] = true;
    }
    if (!group.empty()) broadcast_groups_.push_back(std::move(group));
  }
  for (const PatternPtr& pattern : rule_.source) sides_[0].push_back(compile(*pattern));
  for (const PatternPtr& pattern : rule_.target) sides_[1].push_back(compile(*pattern));
}

std::size_t Property::add_node(Side& side, const Pattern& pattern) const {
  Node node;
  if (pattern.is_input()) {
    node.is_input = true;
    node.input = static_cast<std::size_t>(std::find(inputs_.begin(), inputs_.end(), pattern.input) - inputs_.begin());
  } else {
    for (const PatternPtr& operand : pattern.operands) node.operands.push_back(add_node(side, *operand));
    const std::size_t kind = *kind_named(pattern.op);
    node.kind = static_cast<std::uint32_t>(kind);
    node.output = static_cast<std::uint32_t>(pattern.output);
    for (const SymbolicFieldName& field : symbolic_fields(kind)) {
      Node::Attribute attribute;
      for (const auto& [name, term] : pattern.attributes) {
        if (name != field.name) continue;
        const auto variable = [&](const Term& t) {
          return static_cast<std::size_t>(std::find(variables_.begin(), variables_.end(), t.name) - variables_.begin());
        };
        const auto is_variable = [](const TermPtr& t) { return t->kind == Term::Kind::variable; };
        if (is_variable(term)) {
          attribute.kind = Node::Attribute::Kind::variable;
          attribute.variable = variable(*term);
        } else if (term->kind == Term::Kind::list &&
                   std::any_of(term->operands.begin(), term->operands.end(), is_variable)) {
          attribute.kind = Node::Attribute::Kind::elements;
          for (const TermPtr& element : term->operands)
            attribute.elements.push_back(is_variable(element) ? std::optional(variable(*element)) : std::nullopt);
        } else if (auto code = known_code(field.sample, *term)) {
          attribute.kind = Node::Attribute::Kind::known;
          attribute.code = std::move(*code);
        }
      }
      node.attributes.push_back(std::move(attribute));
    }
    const auto note = [&](std::vector<std::uint32_t>& kinds) {
      if (std::find(kinds.begin(), kinds.end(), node.kind) == kinds.end()) kinds.push_back(node.kind);
    };
    note(side.kinds);
    if (node.operands.empty()) note(side.constants);
  }
  side.nodes.push_back(std::move(node));
  return side.nodes.size() - 1;
}

Property::Side Property::compile(const Pattern& pattern) const {
  Side side;
  add_node(side, pattern);
  side.binds_input.assign(inputs_.size(), false);
  side.binds_variable.assign(variables_.size(), false);
  for (const Node& node : side.nodes) {
    if (node.is_input) side.binds_input[node.input] = true;
    for (const Node::Attribute& attribute : node.attributes) {
      if (attribute.kind == Node::Attribute::Kind::variable) side.binds_variable[attribute.variable] = true;
      for (const auto& element : attribute.elements)
        if (element) side.binds_variable[*element] = true;
    }
  }
  const auto all = [](const std::vector<bool>& bound) {
    return std::all_of(bound.begin(), bound.end(), [](bool is_bound) { return is_bound; });
  };
  side.binds_everything = all(side.binds_input) && all(side.binds_variable);
  return side;
}

const PropertyInstance* Property::at(const Choice& choice) const {
  {
    const std::lock_guard lock(mutex_);
    const auto found = made_.find(choice);
    if (found != made_.end()) return found->second.get();
  }
  auto fresh = make(choice);
  const std::lock_guard lock(mutex_);
  return made_.try_emplace(choice, std::move(fresh)).first->second.get();
}

std::unique_ptr<PropertyInstance> Property::make(const Choice& choice) const {
  Bound chooser(inputs_, variables_, choice);
  std::optional<Instance> raw, solved;
  try {
    raw = rules::instance(rule_, chooser, {}, false);
    if (raw) solved = rules::instance(proved_, chooser, {}, true);
  } catch (const Bound::Misfit&) {
    return nullptr;
  } catch (const Undecided&) {
    return nullptr;
  }
  if (!raw || !solved) return nullptr;
  if (backwards_) std::swap(solved->source, solved->target);
  if (!is_covered(*raw, *solved)) return nullptr;
  auto result = std::make_unique<PropertyInstance>(PropertyInstance{std::move(*raw), {}, {}, {}, {}});
  const Instance& instance = result->instance;
  Places places;
  for (std::size_t i = 0; i < instance.unknowns.size(); ++i) {
    const std::string& name = instance.unknowns[i].name;
    places.emplace(name, i);
    const std::size_t dot = name.rfind('.');
    const std::string stem = name.substr(0, dot);
    PropertyInstance::Origin origin;
    const auto input = std::find(inputs_.begin(), inputs_.end(), stem);
    origin.is_dimension = dot != std::string::npos && input != inputs_.end();
    if (dot != std::string::npos) origin.element = std::stoul(name.substr(dot + 1));
    const auto& names = origin.is_dimension ? inputs_ : variables_;
    const auto found = std::find(names.begin(), names.end(), stem);
    check(found != names.end(), "an unknown of a property is a dimension or a variable");
    origin.index = static_cast<std::size_t>(found - names.begin());
    result->origins.push_back(origin);
  }
  const auto require = [&](const Requirement& requirement) {
    result->requirements.push_back(
        {requirement.kind, CompiledDim(requirement.left, places), CompiledDim(requirement.right, places)});
  };
  for (const Requirement& hypothesis : instance.hypotheses) require(hypothesis);
  for (const Requirement& obligation : instance.obligations) require(obligation);
  for (const Unknown& unknown : instance.unknowns)
    require({Requirement::Kind::at_least, Dim::symbol(unknown.name), unknown.least});
  const auto compile_list = [&](const std::vector<Dim>& dims) {
    std::vector<CompiledDim> list;
    for (const Dim& dim : dims) list.emplace_back(dim, places);
    return list;
  };
  for (const InstanceNode& node : instance.nodes) {
    auto& fields = result->fields.emplace_back();
    for (const SymbolicField& field : node.op.fields) {
      if (const auto* number = std::get_if<Dim>(&field))
        fields.push_back(compile_list({*number}));
      else if (const auto* list = std::get_if<std::vector<Dim>>(&field))
        fields.push_back(compile_list(*list));
      else
        fields.emplace_back();
    }
    auto& shapes = result->shapes.emplace_back();
    for (const Shape& shape : node.shapes) shapes.push_back(compile_list(shape));
  }
  return result;
}

Properties::Properties(const std::vector<Rule>& rules) {
  for (const Rule& rule : rules)
    if (rule.kind == Rule::Kind::axiom) properties_.push_back(std::make_unique<const Property>(rule));
}

}  // namespace taso::rules
