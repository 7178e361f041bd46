#include "verifier/replay/replay.h"

#include <algorithm>

#include <fmt/format.h>

#include "ops/core/error.h"
#include "ops/text/operator_text.h"
#include "rules/language/signature.h"

namespace taso::verifier {
namespace {

/// An operand that an opaque node omits.
constexpr rules::ValueNumber left_out = ~rules::ValueNumber{0};

bool may_be_exchanged(std::string_view op) { return rules::has_trait(op, Trait::commutes); }

/// A certificate holds names that are not valid text in an approximate form.
bool same_text(const std::string& given, const std::string& wanted) {
  return given == wanted || given == rules::text_in_json(wanted);
}

std::uint64_t operators_in(const rules::Pattern& pattern) {
  if (pattern.is_input()) return 0;
  std::uint64_t sum = 1;
  for (const rules::PatternPtr& operand : pattern.operands) sum += operators_in(*operand);
  return sum;
}

}  // namespace

ReplayRules::ReplayRules(const std::vector<rules::Rule>& rules) {
  for (const rules::Rule& rule : rules)
    if (rule.kind != rules::Rule::Kind::axiom) rules_[rule.name].push_back(rule);
}

const std::vector<const rules::Property*>& ReplayRules::named(const std::string& name) {
  const auto ready = ready_.find(name);
  if (ready != ready_.end()) return ready->second;
  std::vector<const rules::Property*> made;
  if (const auto found = rules_.find(name); found != rules_.end())
    for (const rules::Rule& rule : found->second) {
      rules::Rule axiom = rule;
      axiom.kind = rules::Rule::Kind::axiom;  // obligations become assumptions, and all assumptions are checked
      owned_.push_back(std::make_unique<const rules::Property>(std::move(axiom), rule));
      made.push_back(owned_.back().get());
    }
  return ready_.emplace(name, std::move(made)).first->second;
}

/// The effect of a step, once everything about it is known to be right.
struct Replay::Plan {
  struct Definition {
    std::optional<rules::ValueNumber> replaced;  // the value that gets it; nothing for a new value
    Equation equation;
    Type type;
  };
  std::vector<Definition> definitions;
  std::vector<rules::ValueNumber> by;  // what each replaced value becomes
};

Replay::Replay(const Graph& graph) : first_(graph) {
  for (const Node* node : graph.nodes()) {
    Equation equation;
    if (node->as_operator() != nullptr)
      equation.op = std::make_shared<const Operator>(*node->as_operator());
    else
      equation.leaf = node;
    for (const Value& operand : node->inputs()) equation.operands.push_back(operand ? numbers_.at(operand) : left_out);
    for (std::size_t i = 0; i < node->outputs().size(); ++i) {
      numbers_.emplace(node->output(i), values_.size());
      equation.output = i;
      define(equation, node->outputs()[i]);
    }
  }
  for (const Value& output : graph.outputs) outputs_.push_back(numbers_.at(output));
}

void Replay::define(Equation equation, Type type) {
  values_.push_back({values_.size(), std::move(equation), std::move(type)});
}

rules::ValueNumber Replay::find(rules::ValueNumber number) const {
  if (number == left_out) return number;
  while (values_[number].same_as != number) {
    rules::ValueNumber& next = values_[number].same_as;
    next = values_[next].same_as;  // shortens the path for the next time
    number = next;
  }
  return number;
}

rules::ValueNumber Replay::known(rules::ValueNumber number) const {
  if (number >= values_.size()) throw Refusal{fmt::format("there is no value {}", number)};
  return find(number);
}

std::optional<rules::ValueNumber> Replay::number_of(const Value& value) const {
  const auto found = numbers_.find(value);
  return found == numbers_.end() ? std::nullopt : std::optional(found->second);
}

bool Replay::same(const Equation& a, const Equation& b) const {
  const bool same_operator = a.op && b.op && *a.op == *b.op;
  return (same_operator || (a.leaf != nullptr && a.leaf == b.leaf)) && a.output == b.output &&
         std::equal(a.operands.begin(), a.operands.end(), b.operands.begin(), b.operands.end(),
                    [&](rules::ValueNumber x, rules::ValueNumber y) { return find(x) == find(y); });
}

/// Matches the rule's source against the equations below a value. `place` counts its operators, operands first.
FoundPart Replay::source_at(const rules::Pattern& pattern, rules::ValueNumber number, const rules::RewriteStep& step,
                            const rules::Property& rule, std::uint64_t& place) const {
  FoundPart part;
  if (pattern.is_input()) {
    const auto& names = rule.inputs();
    const auto input = static_cast<std::size_t>(std::find(names.begin(), names.end(), pattern.input) - names.begin());
    check(input < names.size(), "a rule uses only its own inputs");
    if (number == left_out || find(number) != find(step.inputs[input].second))
      throw Refusal{fmt::format("'{}' is not value {}", pattern.input, step.inputs[input].second)};
    part.input = input;
    return part;
  }
  if (number == left_out) throw Refusal{"the source of the rule does not match: an operand is missing"};
  const Equation& equation = values_[find(number)].equation;
  if (!equation.op || name_of(*equation.op) != pattern.op || equation.output != pattern.output ||
      equation.operands.size() != pattern.operands.size())
    throw Refusal{
        fmt::format("the source of the rule does not match: value {} is not a result of '{}'", number, pattern.op)};
  part.op = equation.op.get();
  part.output = equation.output;
  std::vector<rules::ValueNumber> operands = equation.operands;
  const std::uint64_t own_place = place + operators_in(pattern) - 1;
  if (std::find(step.exchanged.begin(), step.exchanged.end(), own_place) != step.exchanged.end()) {
    if (!may_be_exchanged(pattern.op)) throw Refusal{fmt::format("operands of '{}' cannot be exchanged", pattern.op)};
    std::swap(operands.at(0), operands.at(1));
    if (find(operands[0]) == find(operands[1])) throw Refusal{"operands are exchanged that are one value"};
  }
  for (std::size_t i = 0; i < operands.size(); ++i)
    part.operands.push_back(source_at(*pattern.operands[i], operands[i], step, rule, place));
  check(place == own_place, "operators are counted operands first");
  ++place;
  return part;
}

Replay::Plan Replay::plan(const rules::RewriteStep& step, const rules::Property& property) const {
  const rules::Rule& rule = property.rule();
  const auto& names = property.inputs();
  if (step.inputs.size() != names.size()) throw Refusal{fmt::format("the rule has {} inputs", names.size())};
  std::vector<Type> inputs;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (step.inputs[i].first != names[i]) throw Refusal{fmt::format("the rule's input '{}' is missing", names[i])};
    inputs.push_back(values_[known(step.inputs[i].second)].type);
  }
  if (step.replaced.size() != rule.source.size())
    throw Refusal{fmt::format("the rule has {} results", rule.source.size())};
  std::vector<FoundPart> found;
  std::uint64_t place = 0;
  for (std::size_t i = 0; i < rule.source.size(); ++i) {
    known(step.replaced[i]);
    if (rule.source[i]->is_input()) throw Refusal{"a result of the rule's source is an input"};
    found.push_back(source_at(*rule.source[i], step.replaced[i], step, property, place));
  }
  for (const std::uint64_t exchanged : step.exchanged)
    if (exchanged >= place) throw Refusal{fmt::format("the rule has no operator {}", exchanged)};
  const ElementType element = values_[find(step.replaced[0])].type.element;
  const GroundTarget target = rule_at_place(property, found, inputs, element);
  const bool same_variables = std::equal(
      step.variables.begin(), step.variables.end(), target.variables.begin(), target.variables.end(),
      [](const auto& a, const auto& b) { return same_text(a.first, b.first) && same_text(a.second, b.second); });
  if (!same_variables) throw Refusal{"the attribute variables stand for something else"};
  if (!std::equal(step.conditions.begin(), step.conditions.end(), target.conditions.begin(), target.conditions.end(),
                  same_text))
    throw Refusal{"the conditions are not those that have to hold"};
  Plan plan;
  check_made(step, target, plan);
  return plan;
}

/// Checks that the nodes of the target are those that the step says it makes.
void Replay::check_made(const rules::RewriteStep& step, const GroundTarget& target, Plan& plan) const {
  const ElementType element = values_[find(step.replaced[0])].type.element;
  if (step.made.size() != target.nodes.size())
    throw Refusal{fmt::format("the rule's target has {} operators", target.nodes.size())};
  const auto number_of_operand = [&](const GroundTarget::Operand& operand) {
    return operand.is_input ? step.inputs[operand.index].second : step.made[operand.index].results[operand.output];
  };
  rules::ValueNumber next = values_.size();
  std::vector<Type> fresh;  // types of the new values
  for (std::size_t i = 0; i < target.nodes.size(); ++i) {
    const GroundTarget::Node& node = target.nodes[i];
    const rules::RewriteStep::Made& made = step.made[i];
    if (!same_text(made.op, ops::text_of(node.op)))
      throw Refusal{fmt::format("the rule makes {} here", ops::text_of(node.op))};
    if (made.results.size() != node.shapes.size()) throw Refusal{fmt::format("{} has other results", made.op)};
    Equation equation;
    equation.op = std::make_shared<const Operator>(node.op);
    for (const auto& operand : node.operands) equation.operands.push_back(number_of_operand(operand));
    for (std::size_t k = 0; k < made.results.size(); ++k) {
      const rules::ValueNumber result = made.results[k];
      equation.output = k;
      Type type{element, node.shapes[k]};
      const GroundTarget::Operand here{false, i, k};
      bool is_result = false, is_replaced = false;
      for (std::size_t r = 0; r < target.results.size(); ++r) {
        is_result = is_result || target.results[r] == here;
        is_replaced = is_replaced || (target.results[r] == here && step.replaced[r] == result);
      }
      if (result == next) {
        // A step has only one representation: what replaces a value has its number.
        if (is_result) throw Refusal{fmt::format("value {} has a number already", result)};
        ++next;
        plan.definitions.push_back({std::nullopt, equation, type});
        continue;
      }
      if (is_replaced) {
        plan.definitions.push_back({result, equation, type});
        continue;
      }
      // Made twice in this step, or present before it.
      const Equation* there = nullptr;
      if (result < values_.size()) there = &values_[find(result)].equation;
      for (std::size_t d = 0, number = values_.size(); d < plan.definitions.size(); ++d)
        if (!plan.definitions[d].replaced && number++ == result) there = &plan.definitions[d].equation;
      const auto is_same = [&](rules::ValueNumber x, rules::ValueNumber y) {
        return x == y || (x < values_.size() && y < values_.size() && find(x) == find(y));
      };
      if (there == nullptr || !there->op || !(*there->op == *equation.op) || there->output != equation.output ||
          !std::equal(there->operands.begin(), there->operands.end(), equation.operands.begin(),
                      equation.operands.end(), is_same))
        throw Refusal{fmt::format("value {} is not what the rule makes", result)};
    }
  }
  for (std::size_t r = 0; r < target.results.size(); ++r) {
    const GroundTarget::Operand& result = target.results[r];
    const Type& old = values_[find(step.replaced[r])].type;
    const Type now = result.is_input ? values_[find(step.inputs[result.index].second)].type
                                     : Type{element, target.nodes[result.index].shapes[result.output]};
    if (!(old == now)) throw Refusal{"the result would have another type"};
    plan.by.push_back(number_of_operand(result));
  }
}

void Replay::apply(const rules::RewriteStep& step, const Plan& plan) {
  for (const Plan::Definition& definition : plan.definitions)
    if (!definition.replaced) define(definition.equation, definition.type);
  for (const Plan::Definition& definition : plan.definitions)
    if (definition.replaced) values_[find(*definition.replaced)].equation = definition.equation;
  for (std::size_t i = 0; i < step.replaced.size(); ++i) {
    const rules::ValueNumber old = find(step.replaced[i]), by = find(plan.by[i]);
    if (old != by) values_[old].same_as = by;
  }
  for (const auto& [value, other] : step.merged) {
    const rules::ValueNumber a = known(value), b = known(other);
    if (a == b) throw Refusal{fmt::format("values {} and {} are the same already", value, other)};
    if (!same(values_[a].equation, values_[b].equation))
      throw Refusal{fmt::format("values {} and {} are not computed in the same way", value, other)};
    values_[a].same_as = b;
  }
  // Rewriting one value adds nothing below it; with several, one may come to depend on another.
  if (step.replaced.size() > 1) in_order(step.replaced);
}

std::optional<std::string> Replay::take(const rules::RewriteStep& step, ReplayRules& rules) {
  std::string reason = "there is no such rule";
  std::optional<Plan> planned;  // nothing is changed before the whole step is known to fit
  for (const rules::Property* rule : rules.named(step.rule)) {
    try {
      planned = plan(step, *rule);
      break;
    } catch (const Refusal& refusal) {
      reason = refusal.reason;
    }
  }
  if (!planned) return reason;
  try {
    apply(step, *planned);
  } catch (const Refusal& refusal) {
    return refusal.reason;
  }
  return std::nullopt;
}

/// These values and all that they are computed from, operands first.
std::vector<rules::ValueNumber> Replay::in_order(const std::vector<rules::ValueNumber>& from) const {
  std::vector<rules::ValueNumber> order, stack;
  enum class State : char { fresh, open, done };
  std::vector<State> states(values_.size(), State::fresh);
  for (auto value = from.rbegin(); value != from.rend(); ++value) stack.push_back(find(*value));
  while (!stack.empty()) {
    const rules::ValueNumber number = stack.back();
    State& state = states[number];
    if (state != State::fresh) {
      stack.pop_back();
      if (state == State::open) order.push_back(number);
      state = State::done;
      continue;
    }
    state = State::open;
    const auto& operands = values_[number].equation.operands;
    for (auto operand = operands.rbegin(); operand != operands.rend(); ++operand) {
      const rules::ValueNumber next = find(*operand);
      if (next == left_out || states[next] == State::done) continue;
      if (states[next] == State::open) throw Refusal{fmt::format("value {} would be computed from itself", next)};
      stack.push_back(next);
    }
  }
  return order;
}

Graph Replay::graph(const std::vector<rules::ValueNumber>& more) const {
  std::vector<rules::ValueNumber> wanted = outputs_;
  wanted.insert(wanted.end(), more.begin(), more.end());
  std::unordered_map<rules::ValueNumber, Value> made;
  std::unordered_map<const Node*, std::vector<const Node*>> opaque;  // by the original node: with other operands
  const auto node_of = [&](const Equation& equation, const std::vector<Value>& operands) -> const Node& {
    if (equation.op) return first_.pool->add(*equation.op, operands);
    const auto old = equation.leaf->inputs();
    if (std::equal(operands.begin(), operands.end(), old.begin(), old.end())) return *equation.leaf;
    std::vector<const Node*>& copies = opaque[equation.leaf];
    for (const Node* const node : copies)
      if (std::equal(operands.begin(), operands.end(), node->inputs().begin(), node->inputs().end())) return *node;
    copies.push_back(&first_.pool->add_opaque(*equation.leaf->as_opaque(), operands));
    return *copies.back();
  };
  for (const rules::ValueNumber number : in_order(wanted)) {
    const Equation& equation = values_[number].equation;
    std::vector<Value> operands;
    for (const rules::ValueNumber operand : equation.operands)
      operands.push_back(operand == left_out ? Value{} : made.at(find(operand)));
    made.emplace(number, node_of(equation, operands).output(equation.output));
  }
  Graph result;
  result.pool = first_.pool;
  result.inputs = first_.inputs;
  for (const rules::ValueNumber output : wanted) result.outputs.push_back(made.at(find(output)));
  return result;
}

}  // namespace taso::verifier
