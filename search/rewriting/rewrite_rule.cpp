#include "search/rewriting/rewrite_rule.h"

#include <algorithm>
#include <set>

#include "ops/core/error.h"
#include "rules/language/canonical.h"
#include "rules/language/signature.h"
#include "rules/language/well_formed.h"

namespace taso::search {
namespace {

bool commutes(std::string_view op) { return rules::has_trait(op, Trait::commutes); }

template <class T>
std::size_t place_of(const std::vector<T>& list, const T& element) {
  const auto found = std::find(list.begin(), list.end(), element);
  check(found != list.end(), "a rule uses only its own names");
  return static_cast<std::size_t>(found - list.begin());
}

std::optional<Dim> literal(const rules::Term& term) {
  if (term.kind == rules::Term::Kind::integer || term.kind == rules::Term::Kind::boolean) return Dim(term.integer);
  return std::nullopt;
}

/// The rule with the source on both sides, in this order.
rules::Rule source_alone(const rules::Rule& rule, bool exchanged) {
  rules::Rule alone = rule;
  if (exchanged) std::swap(alone.source[0], alone.source[1]);
  alone.target = alone.source;
  alone.kind = rules::Rule::Kind::candidate;
  return alone;
}

/// The same text for patterns that differ only in the order of commutative operands.
std::string text_in_one_order(const rules::Pattern& pattern) {
  if (pattern.is_input()) return pattern.input;
  std::string text = pattern.op + ' ' + std::to_string(pattern.output) + '[';
  for (const auto& [name, term] : pattern.attributes) text += name + '=' + rules::text_of(*term) + ',';
  std::vector<std::string> operands;
  for (const rules::PatternPtr& operand : pattern.operands) operands.push_back(text_in_one_order(*operand));
  if (commutes(pattern.op)) std::sort(operands.begin(), operands.end());
  for (const std::string& operand : operands) text += '(' + operand + ')';
  return text + ']';
}

/// Such a rule is useless: the matcher tries commutative operands in both orders anyway.
bool only_exchanges(const rules::Rule& rule) {
  return std::equal(rule.source.begin(), rule.source.end(), rule.target.begin(), rule.target.end(),
                    [](const rules::PatternPtr& a, const rules::PatternPtr& b) {
                      return text_in_one_order(*a) == text_in_one_order(*b);
                    });
}

}  // namespace

SourceNode::Field RewriteRule::field_of(const rules::Pattern& pattern, std::size_t kind, std::size_t index) const {
  using Kind = SourceNode::Field::Kind;
  const rules::SymbolicFieldName& field = rules::symbolic_fields(kind)[index];
  const auto& variables = property_->variables();
  SourceNode::Field result;
  const auto given = std::find_if(pattern.attributes.begin(), pattern.attributes.end(),
                                  [&](const auto& attribute) { return attribute.first == field.name; });
  if (given == pattern.attributes.end()) {
    // Missing attributes have the defaults of rules/instance/instance.cpp; if in doubt, they are left open.
    result.repeats = true;
    if (field.name == "strides" || field.name == "dilations") {
      result.kind = Kind::numbers;
      result.numbers = {1};
    } else if (field.name == "pads" || field.name == "output_padding" || field.name == "before" ||
               field.name == "after") {
      result.kind = Kind::numbers;
      result.numbers = {0};
    } else if (field.name == "groups") {
      result.kind = Kind::numbers;
      result.numbers = {1};
    } else if (const auto* real = std::get_if<rules::RealAttribute>(&field.sample)) {
      result.kind = Kind::real;
      result.real = real->value;
    }
    return result;
  }
  const rules::Term& term = *given->second;
  const auto is_variable = [](const rules::TermPtr& element) { return element->kind == rules::Term::Kind::variable; };
  if (term.kind == rules::Term::Kind::variable) {
    result.kind = Kind::variable;
    result.variable = place_of(variables, term.name);
  } else if (term.kind == rules::Term::Kind::list) {
    if (std::any_of(term.operands.begin(), term.operands.end(), is_variable)) {
      result.kind = Kind::elements;
      for (const rules::TermPtr& element : term.operands) {
        result.elements.emplace_back();
        if (is_variable(element)) result.elements.back() = place_of(variables, element->name);
      }
    } else {
      result.kind = Kind::numbers;
      for (const rules::TermPtr& element : term.operands) {
        const auto number = literal(*element);
        if (!number) return {};
        result.numbers.push_back(*number);
      }
    }
  } else if (std::holds_alternative<rules::RealAttribute>(field.sample)) {
    if (term.kind == rules::Term::Kind::real || term.kind == rules::Term::Kind::integer) {
      result.kind = Kind::real;
      result.real = term.kind == rules::Term::Kind::real ? term.real : static_cast<double>(term.integer);
    }
  } else if (const auto number = literal(term)) {
    result.kind = Kind::numbers;
    result.numbers = {*number};
    result.repeats = true;
  }
  return result;
}

std::size_t RewriteRule::add(const rules::Pattern& pattern) {
  SourceNode node;
  if (pattern.is_input()) {
    node.input = place_of(property_->inputs(), pattern.input);
  } else {
    for (const rules::PatternPtr& operand : pattern.operands) node.operands.push_back(add(*operand));
    const std::size_t kind = *rules::kind_named(pattern.op);
    node.kind = static_cast<std::uint32_t>(kind);
    node.output = static_cast<std::uint32_t>(pattern.output);
    node.commutes = commutes(pattern.op);
    for (std::size_t i = 0; i < rules::symbolic_fields(kind).size(); ++i)
      node.fields.push_back(field_of(pattern, kind, i));
    if (std::find(kinds_.begin(), kinds_.end(), node.kind) == kinds_.end()) kinds_.push_back(node.kind);
  }
  nodes_.push_back(std::move(node));
  return nodes_.size() - 1;
}

void RewriteRule::ways_to(std::size_t root, std::size_t node, std::vector<std::pair<std::size_t, std::size_t>>& steps,
                          std::vector<WayUp>& ways) const {
  const SourceNode& here = nodes_[node];
  if (here.input) {
    ways.push_back({*here.input, {steps.rbegin(), steps.rend()}});
    return;
  }
  for (std::size_t i = 0; i < here.operands.size(); ++i) {
    steps.emplace_back(node, i);
    ways_to(root, here.operands[i], steps, ways);
    steps.pop_back();
  }
}

bool RewriteRule::find_ways() {
  std::set<std::size_t> bound;
  for (std::size_t result = 0; result < roots_.size(); ++result) {
    std::vector<WayUp> all, known;
    std::vector<std::pair<std::size_t, std::size_t>> steps;
    ways_to(roots_[result], roots_[result], steps, all);
    for (const WayUp& way : all) {
      depth_ = std::max(depth_, way.steps.size());
      if (bound.contains(way.input)) known.push_back(way);
    }
    if (result > 0 && known.empty()) return false;
    for (const WayUp& way : all) bound.insert(way.input);
    if (result > 0) ways_.push_back(std::move(known));
  }
  // A constant operator has depth too.
  depth_ = std::max<std::size_t>(depth_, 1);
  return true;
}

std::unique_ptr<RewriteRule> RewriteRule::compile(const rules::Rule& rule, const rules::Rule& proved) {
  for (const rules::PatternPtr& pattern : rule.source)
    if (pattern->is_input()) return nullptr;
  if (only_exchanges(rule)) return nullptr;
  std::unique_ptr<RewriteRule> compiled(new RewriteRule);
  compiled->name_ = rule.name;
  rules::Rule axiom = rule;
  axiom.kind = rules::Rule::Kind::axiom;  // all requirements and assumptions are checked where it is used
  compiled->property_ = std::make_unique<const rules::Property>(std::move(axiom), proved);
  const auto& inputs = compiled->property_->inputs();
  for (const rules::PatternPtr& pattern : rule.source) compiled->roots_.push_back(compiled->add(*pattern));
  if (!compiled->find_ways()) return nullptr;
  for (const rules::Condition& condition : rule.conditions) {
    if (condition.relation != rules::Condition::Relation::broadcast) continue;
    auto& group = compiled->broadcasts_.emplace_back();
    for (const std::string& input : condition.inputs) group.push_back(place_of(inputs, input));
  }
  if (rule.source.size() == 2)
    compiled->symmetric_ =
        rules::canonical_text(source_alone(rule, false)) == rules::canonical_text(source_alone(rule, true));
  return compiled;
}

std::vector<std::unique_ptr<RewriteRule>> compile(const std::vector<rules::Rule>& rules) {
  std::vector<std::unique_ptr<RewriteRule>> compiled;
  const auto take = [&](const rules::Rule& rule, const rules::Rule& proved) {
    if (auto one = RewriteRule::compile(rule, proved)) compiled.push_back(std::move(one));
  };
  for (const rules::Rule& rule : rules) {
    if (rule.kind != rules::Rule::Kind::axiom) {
      take(rule, rule);
      continue;
    }
    for (const bool backwards : {false, true}) {
      rules::Rule directed = rule;
      directed.kind = rules::Rule::Kind::candidate;
      if (backwards) std::swap(directed.source, directed.target);
      if (!rules::flaw_of(directed)) take(directed, rule);  // a side that does not bind every name cannot be the source
    }
  }
  return compiled;
}

bool fields_fit(const SourceNode& node, const KnownOperator& op,
                const std::function<bool(std::size_t, const Attribute&)>& bind) {
  using Kind = SourceNode::Field::Kind;
  for (std::size_t i = 0; i < node.fields.size(); ++i) {
    const SourceNode::Field& field = node.fields[i];
    const Attribute& value = op.attributes[i];
    switch (field.kind) {
      case Kind::open: break;
      case Kind::variable:
        if (!bind(field.variable, value)) return false;
        break;
      case Kind::elements:
        if (value.numbers.size() != field.elements.size()) return false;
        for (std::size_t k = 0; k < field.elements.size(); ++k)
          if (field.elements[k] && !bind(*field.elements[k], {{value.numbers[k]}, 0, false})) return false;
        break;
      case Kind::numbers:
        if (field.repeats) {
          for (const Dim& number : value.numbers)
            if (number != field.numbers[0]) return false;
        } else if (value.numbers != field.numbers) {
          return false;
        }
        break;
      case Kind::real:
        if (!(value.real == field.real)) return false;
        break;
    }
  }
  return true;
}

}  // namespace taso::search
