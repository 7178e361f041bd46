#include "search/program/extract.h"

#include <algorithm>
#include <unordered_set>

#include "ops/core/error.h"
#include "ops/text/literal.h"
#include "ops/text/operator_text.h"
#include "search/rewriting/matcher.h"

namespace taso::search {
namespace {

std::string text_of_attribute(const Attribute& attribute) {
  if (attribute.is_real) return text_of_number(attribute.real);
  if (attribute.numbers.size() == 1) return attribute.numbers[0].text();
  return ops::text_of(attribute.numbers);
}

}  // namespace

Extractor::Extractor(const Program& program, const Graph& graph, OpaqueNodes* shared)
    : program_(program), original_(graph), opaque_(shared != nullptr ? *shared : own_) {
  for (const Node* node : graph.nodes())
    for (std::size_t i = 0; i < node->outputs().size(); ++i)
      numbers_[program.value_of(node->output(i))] = next_number_++;
}

const Node& Extractor::make(ComputationId id, const std::vector<Value>& operands) {
  const Computation& computation = program_.store()[id];
  if (computation.op != nullptr) return original_.pool->add(computation.op->op, operands);
  const Node& origin = *computation.origin;
  if (std::equal(operands.begin(), operands.end(), origin.inputs().begin(), origin.inputs().end())) return origin;
  const Opaque* opaque = origin.as_opaque();
  check(opaque != nullptr, "only operators and opaque nodes have operands");
  std::vector<const Node*>& copies = opaque_[&origin];
  for (const Node* const node : copies)
    if (std::equal(operands.begin(), operands.end(), node->inputs().begin(), node->inputs().end())) return *node;
  copies.push_back(&original_.pool->add_opaque(*opaque, operands));
  return *copies.back();
}

Graph Extractor::graph() {
  made_.clear();
  for (const ComputationId id : program_.computations()) {
    std::vector<Value> operands;
    for (const ValueId operand : program_.store()[id].operands)
      operands.push_back(operand == no_value ? Value{} : made_.at(operand));
    const Node& node = make(id, operands);
    const auto& results = program_.results(id);
    for (std::size_t i = 0; i < results.size(); ++i)
      if (results[i] != no_value) made_[results[i]] = node.output(i);
  }
  Graph result;
  result.pool = original_.pool;
  result.inputs = original_.inputs;
  for (const ValueId output : program_.outputs()) result.outputs.push_back(made_.at(output));
  for (std::size_t i = 0; i < result.outputs.size(); ++i)
    check(result.outputs[i].type() == original_.outputs[i].type(), "outputs keep their types");
  return result;
}

rules::RewriteStep Extractor::describe(const Match& match, const Program::Log& log,
                                       const std::vector<std::vector<ValueId>>& results) {
  rules::RewriteStep step;
  step.rule = match.rule->name();
  const auto& inputs = match.rule->property().inputs();
  const auto& variables = match.rule->property().variables();
  for (std::size_t i = 0; i < inputs.size(); ++i) step.inputs.emplace_back(inputs[i], numbers_.at(match.inputs[i]));
  for (std::size_t i = 0; i < variables.size(); ++i)
    step.variables.emplace_back(variables[i], text_of_attribute(match.variables[i]));
  std::size_t place_of_operator = 0;
  for (std::size_t i = 0; i < match.rule->nodes().size(); ++i) {
    if (match.rule->nodes()[i].input) continue;
    if (match.exchanged[i]) step.exchanged.push_back(place_of_operator);
    ++place_of_operator;
  }
  for (const ValueId root : match.roots) step.replaced.push_back(numbers_.at(root));
  std::unordered_set<ValueId> fresh;
  for (std::size_t i = 0; i < results.size(); ++i) {
    auto& made = step.made.emplace_back();
    made.op = ops::text_of(match.target[i].op->op);
    for (const ValueId result : results[i]) {
      if (!program_.definition(result).exists && fresh.insert(result).second)
        numbers_.insert_or_assign(result, next_number_++);
      made.results.push_back(numbers_.at(result));
    }
  }
  // The results are those of the target by definition; other values that become equal are not.
  std::unordered_map<ValueId, ValueId> same;
  const auto unite = [&](ValueId a, ValueId b) {
    const auto first = [&](ValueId id) {
      for (auto found = same.find(id); found != same.end(); found = same.find(id)) id = found->second;
      return id;
    };
    a = first(a);
    b = first(b);
    if (a != b) same.emplace(a, b);
    return a != b;
  };
  for (std::size_t i = 0; i < match.roots.size(); ++i) {
    const TargetNode::Operand& by = match.results[i];
    unite(match.roots[i], by.is_input ? match.inputs[by.index] : results[by.index][by.output]);
  }
  for (const Change& change : log)
    if (change.kind == Change::Kind::merged && unite(change.names[0], change.names[1]))
      step.merged.emplace_back(numbers_.at(change.names[0]), numbers_.at(change.names[1]));
  step.conditions = conditions_of(match);
  return step;
}

void Extractor::note(const Program::Log& log) { merged_.note(log, program_); }

namespace {

/// Expresses values by computations, down to values that have names.
class Expressions {
 public:
  using Make = std::function<const Node&(ComputationId, const std::vector<Value>&)>;
  Expressions(const Program& program, Make make) : program_(program), make_(std::move(make)) {}

  void name(ValueId id, const Value& value) { named_.emplace(id, value); }
  bool is_named(ValueId id) const { return named_.contains(id); }
  bool is_complete() const { return complete_; }
  const std::unordered_map<ValueId, Value>& names() const { return named_; }

  Value of(ValueId id) {
    if (const auto found = named_.find(id); found != named_.end()) return found->second;
    if (const auto found = known_.find(id); found != known_.end()) return found->second;
    const Value value = computed(id);
    known_.emplace(id, value);
    // The value is equal to a named value that is computed differently now: the name would mean the other one.
    const auto original = program_.original_values().find(value);
    if (original != program_.original_values().end() && original->second != id && is_named(original->second) &&
        program_.definition(original->second).exists)
      complete_ = false;
    return value;
  }
  /// The computation of a value, even if the value has a name.
  Value computed(ValueId id) {
    const Program::Definition& definition = program_.definition(id);
    std::vector<Value> operands;
    for (const ValueId operand : program_.store()[definition.computation].operands)
      operands.push_back(operand == no_value ? Value{} : of(operand));
    return make_(definition.computation, operands).output(definition.output);
  }

 private:
  const Program& program_;
  Make make_;
  std::unordered_map<ValueId, Value> named_, known_;
  bool complete_ = true;
};

}  // namespace

/// Whether a value is computed from named values as in the model. A named operand that was merged keeps the node
/// unchanged: it gets the other operand together with all other users of that name. An operand without a name is part
/// of the node, such as the inner concats of a Concat of three. Only the node itself could get the other operand, so it
/// is written again.
bool Extractor::is_as_it_was(const Value& value, ValueId id, const std::unordered_map<ValueId, Value>& named,
                             Unchanged& known) const {
  const Program::Definition& definition = program_.definition(id);
  if (!definition.exists || definition.output != value.output) return false;
  const Computation& computation = program_.store()[definition.computation];
  if (computation.origin != nullptr) return computation.origin == value.node;
  const Operator* op = value.node->as_operator();
  if (op == nullptr || *op != computation.op->op || value.node->inputs().size() != computation.operands.size())
    return false;
  for (std::size_t i = 0; i < computation.operands.size(); ++i) {
    const Value& operand = value.node->inputs()[i];
    const ValueId was = program_.value_of(operand), now = computation.operands[i];
    if ((named.contains(was) ? merged_.current(was) : was) != now) return false;
    if (named.contains(now)) continue;
    // Check each part once: a Split with thousands of results is a chain, and every result asks for those before it.
    const auto part = known.find(operand);
    const bool is_known = part != known.end() && part->second.first == now;
    const bool is_same = is_known ? part->second.second : is_as_it_was(operand, now, named, known);
    if (!is_known) known.insert_or_assign(operand, std::pair(now, is_same));
    if (!is_same) return false;
  }
  return true;
}

Replacements Extractor::replacements(const std::function<bool(const Value&)>& is_named) {
  std::vector<std::pair<Value, ValueId>> originals;
  Expressions expressions(program_, [this](ComputationId id, const std::vector<Value>& operands) -> const Node& {
    return make(id, operands);
  });
  for (const auto& [value, id] : program_.original_values()) {
    if (!value || (is_named && !is_named(value))) continue;
    originals.emplace_back(value, id);
    expressions.name(id, value);
  }
  std::sort(originals.begin(), originals.end(), [](const auto& a, const auto& b) { return a.second < b.second; });

  Replacements result;
  Unchanged unchanged;
  for (const auto& [value, id] : originals) {
    if (!program_.definition(id).exists) {
      const ValueId now = merged_.current(id);
      if (now == id || !program_.definition(now).exists) continue;  // not used
      const Value by = expressions.of(now);
      // It may be an unnamed part of a node that turned out to be this value: then the value is computed as before.
      if (by != value) (expressions.is_named(now) ? result.merged : result.rewritten).emplace_back(value, by);
      continue;
    }
    const Program::Definition& definition = program_.definition(id);
    const Computation& computation = program_.store()[definition.computation];
    if (computation.origin != nullptr) continue;  // leaves and opaque nodes stay unchanged
    if (is_as_it_was(value, id, expressions.names(), unchanged)) continue;
    const Value by = expressions.computed(id);
    if (by == value) continue;
    result.rewritten.emplace_back(value, by);
    const auto twin = program_.original_values().find(by);
    if (twin != program_.original_values().end() && expressions.is_named(twin->second) &&
        program_.definition(twin->second).exists)
      result.complete = false;
  }
  result.complete = result.complete && expressions.is_complete();
  return result;
}

}  // namespace taso::search
