#include "search/extract.h"

#include <algorithm>

#include "ops/error.h"
#include "ops/literal.h"
#include "search/matcher.h"

namespace taso {
namespace {

std::string text_of_attribute(const Attribute& attribute) {
  if (attribute.is_real) return text_of_number(attribute.real);
  if (attribute.numbers.size() == 1) return attribute.numbers[0].text();
  return text_of(attribute.numbers);
}

}  // namespace

Extractor::Extractor(const Program& program, const Graph& graph) : program_(program), original_(graph) {}

const Node& Extractor::make(ComputationId id, const std::vector<Value>& operands) {
  const Computation& computation = program_.store()[id];
  if (computation.op != nullptr) return original_.pool->add(computation.op->op, operands);
  const Node& origin = *computation.origin;
  if (std::equal(operands.begin(), operands.end(), origin.inputs().begin(), origin.inputs().end())) return origin;
  const Opaque* opaque = origin.as_opaque();
  check(opaque != nullptr, "only operators and opaque nodes have operands");
  const std::pair<const Node*, std::vector<Value>> key{&origin, operands};
  for (const auto& [known, node] : opaque_)
    if (known == key) return *node;
  const Node& fresh = original_.pool->add_opaque(*opaque, operands);
  opaque_.emplace_back(key, &fresh);
  return fresh;
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

ValueId Extractor::current(ValueId id) const {
  for (auto found = merged_.find(id); found != merged_.end(); found = merged_.find(id)) id = found->second;
  return id;
}

std::vector<Value> Extractor::values(const std::vector<ValueId>& ids) const {
  std::vector<Value> result;
  for (const ValueId id : ids) result.push_back(made_.at(current(id)));
  return result;
}

RewriteStep Extractor::describe(const Match& match) const {
  RewriteStep step;
  step.rule = match.rule->name();
  const auto& inputs = match.rule->property().inputs();
  const auto& variables = match.rule->property().variables();
  const auto standing = values(match.inputs);
  for (std::size_t i = 0; i < inputs.size(); ++i) step.inputs.emplace_back(inputs[i], standing[i]);
  for (std::size_t i = 0; i < variables.size(); ++i)
    step.variables.emplace_back(variables[i], text_of_attribute(match.variables[i]));
  std::size_t place_of_operator = 0;
  for (std::size_t i = 0; i < match.rule->nodes().size(); ++i) {
    if (match.rule->nodes()[i].input) continue;
    if (match.exchanged[i]) step.exchanged.push_back(place_of_operator);
    ++place_of_operator;
  }
  step.replaced = values(match.roots);
  step.conditions = conditions_of(match);
  return step;
}

void Extractor::note(const Program::Log& log) {
  for (const Change& change : log) {
    if (change.kind != Change::Kind::merged) continue;
    merged_[change.names[0]] = change.names[1];
  }
  // A name that is given again stands for itself again.
  for (const Change& change : log)
    if (change.kind == Change::Kind::added)
      for (const ValueId name : change.names)
        if (name != no_value && program_.definition(name).exists) merged_.erase(name);
}

namespace {

/// Says what values are computed from, down to those that have names.
class Expressions {
 public:
  using Make = std::function<const Node&(ComputationId, const std::vector<Value>&)>;
  Expressions(const Program& program, Make make) : program_(program), make_(std::move(make)) {}

  void name(ValueId id, const Value& value) { named_.emplace(id, value); }
  bool is_named(ValueId id) const { return named_.contains(id); }
  bool is_complete() const { return complete_; }

  Value of(ValueId id) {
    if (const auto found = named_.find(id); found != named_.end()) return found->second;
    if (const auto found = known_.find(id); found != known_.end()) return found->second;
    const Value value = computed(id);
    known_.emplace(id, value);
    // Equal to a value that has a name, but is computed in another way now: the name would mean that one.
    const auto original = program_.original_values().find(value);
    if (original != program_.original_values().end() && original->second != id && is_named(original->second) &&
        program_.definition(original->second).exists)
      complete_ = false;
    return value;
  }
  /// What computes it, even if it has a name.
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
  for (const auto& [value, id] : originals) {
    if (!program_.definition(id).exists) {
      const ValueId now = current(id);
      if (now == id || !program_.definition(now).exists) continue;  // nobody needs it
      (expressions.is_named(now) ? result.merged : result.rewritten).emplace_back(value, expressions.of(now));
      continue;
    }
    const Program::Definition& definition = program_.definition(id);
    const Computation& computation = program_.store()[definition.computation];
    if (computation.origin != nullptr) continue;  // leaves and opaque nodes stay what they are
    // Values that have been merged keep the node as it is: it gets other operands with all who used them.
    bool same = definition.output == value.output && value.node->as_operator() != nullptr &&
                *value.node->as_operator() == computation.op->op &&
                value.node->inputs().size() == computation.operands.size();
    for (std::size_t i = 0; same && i < computation.operands.size(); ++i)
      same = current(program_.value_of(value.node->inputs()[i])) == computation.operands[i];
    if (same) continue;
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

}  // namespace taso
