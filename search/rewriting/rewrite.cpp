#include "search/rewriting/rewrite.h"

#include <algorithm>

#include "ops/core/error.h"

namespace taso::search {
namespace {

class Rewriting {
 public:
  Rewriting(Program& program, const Match& match, Program::Log& log) : program_(program), match_(match), log_(log) {}

  void run() {
    std::vector<ComputationId> suspects;
    // Free the names of the results first: the target may contain the computations that had them.
    for (const ValueId root : match_.roots) {
      const Program::Definition old = program_.definition(root);
      suspects.push_back(old.computation);
      std::vector<ValueId> names = program_.results(old.computation);
      names[old.output] = no_value;
      program_.rename_results(old.computation, std::move(names), log_);
    }
    for (std::size_t i = 0; i < match_.target.size(); ++i) add(i);
    for (std::size_t i = 0; i < match_.roots.size(); ++i) {
      const ValueId root = current(match_.roots[i]), given = current(value_of(match_.results[i]));
      if (root != given) merge(root, given);
    }
    // Merging may have changed the operands of computations that are no longer needed.
    for (const Change& change : log_)
      if (change.kind == Change::Kind::added) suspects.push_back(change.computation);
    program_.collect(std::move(suspects), log_);
  }
  const std::vector<std::vector<ValueId>>& results() const { return results_; }

 private:
  ValueId value_of(const TargetNode::Operand& operand) const {
    return operand.is_input ? match_.inputs[operand.index] : results_[operand.index][operand.output];
  }

  /// The value that a value was merged into during this rewrite.
  ValueId current(ValueId value) const {
    for (const Change& change : log_)
      if (change.kind == Change::Kind::merged && change.names[0] == value) value = change.names[1];
    return value;
  }

  void add(std::size_t index) {
    const TargetNode& node = match_.target[index];
    std::vector<ValueId> operands;
    for (const TargetNode::Operand& operand : node.operands) operands.push_back(value_of(operand));
    const ComputationId id = program_.store().apply(*node.op, std::move(operands));
    const bool is_there = program_.has(id);
    std::vector<ValueId> names =
        is_there ? program_.results(id) : std::vector<ValueId>(program_.store()[id].results, no_value);
    for (std::size_t output = 0; output < names.size(); ++output) {
      if (names[output] != no_value) continue;
      for (std::size_t i = 0; i < match_.results.size() && names[output] == no_value; ++i) {
        const TargetNode::Operand& result = match_.results[i];
        const bool is_free = !program_.definition(match_.roots[i]).exists;
        if (!result.is_input && result.index == index && result.output == output && is_free)
          names[output] = match_.roots[i];
      }
      if (names[output] == no_value) names[output] = program_.free_name(id, output);
    }
    if (is_there)
      program_.rename_results(id, names, log_);
    else
      program_.add(id, names, log_);
    results_.push_back(std::move(names));
  }

  /// `root` has lost its computation and is now equal to `given`. The older name stays, but leaves of the model keep
  /// theirs.
  void merge(ValueId root, ValueId given) {
    const Program::Definition definition = program_.definition(given);
    if (given < root || program_.store()[definition.computation].origin != nullptr) {
      program_.replace(root, given, log_);
      return;
    }
    std::vector<ValueId> names = program_.results(definition.computation);
    names[definition.output] = root;
    program_.rename_results(definition.computation, std::move(names), log_);
    program_.replace(given, root, log_);
  }

  Program& program_;
  const Match& match_;
  Program::Log& log_;
  std::vector<std::vector<ValueId>> results_;  // of the target's nodes
};

/// Whether the source is still as it was matched. It is not enough that the computations exist: a value may have got
/// another computation, and a computation may have lost the name of a result.
bool is_there(const Program& program, const Match& match) {
  const auto& nodes = match.rule->nodes();
  const auto is_given_by = [&](ValueId value, std::size_t node) {
    const Program::Definition& definition = program.definition(value);
    return definition.exists && definition.computation == match.source[node] && definition.output == nodes[node].output;
  };
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].input) continue;
    if (!program.has(match.source[i])) return false;
    const std::vector<ValueId>& operands = program.store()[match.source[i]].operands;
    for (std::size_t k = 0; k < operands.size(); ++k) {
      const std::size_t operand = nodes[i].operands[match.exchanged[i] ? operands.size() - 1 - k : k];
      const bool same =
          nodes[operand].input ? operands[k] == match.inputs[*nodes[operand].input] : is_given_by(operands[k], operand);
      if (!same) return false;
    }
  }
  for (const ValueId input : match.inputs)
    if (!program.definition(input).exists) return false;
  for (std::size_t i = 0; i < match.roots.size(); ++i)
    if (!is_given_by(match.roots[i], match.rule->roots()[i]) || !program.is_used(match.roots[i])) return false;
  return true;
}

bool makes_a_cycle(const Program& program, const Match& match) {
  if (match.roots.size() == 1) return false;  // the inputs of the source do not depend on it
  const auto& nodes = match.rule->nodes();
  for (std::size_t result = 0; result < match.roots.size(); ++result) {
    // Nodes are listed operands first, result by result.
    const std::size_t begin = result == 0 ? 0 : match.rule->roots()[result - 1] + 1;
    std::vector<bool> own(match.inputs.size(), false);
    for (std::size_t i = begin; i <= match.rule->roots()[result]; ++i)
      if (nodes[i].input) own[*nodes[i].input] = true;
    for (std::size_t input = 0; input < match.inputs.size(); ++input)
      if (!own[input] && program.depends_on(match.inputs[input], std::span(&match.roots[result], 1))) return true;
  }
  return false;
}

/// Whether a value inside the source is used outside, costs something, and is not part of the target too.
bool takes_what_others_use(Program& program, const Match& match) {
  const auto& nodes = match.rule->nodes();
  std::vector<ComputationId> needed;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].input) continue;
    const ValueId value = program.results(match.source[i])[nodes[i].output];
    const bool is_root = std::find(match.roots.begin(), match.roots.end(), value) != match.roots.end();
    if (is_root || program.store().weight_only(value)) continue;
    const auto& users = program.users(value);
    const bool inside = std::all_of(users.begin(), users.end(), [&](ComputationId user) {
      for (std::size_t k = 0; k < nodes.size(); ++k)
        if (!nodes[k].input && match.source[k] == user) return true;
      return false;
    });
    if (!inside || program.is_output(value)) needed.push_back(match.source[i]);
  }
  if (needed.empty()) return false;
  // The part of the target that the graph has already.
  std::vector<std::vector<ValueId>> made(match.target.size());
  for (std::size_t i = 0; i < match.target.size(); ++i) {
    std::vector<ValueId> operands;
    for (const TargetNode::Operand& operand : match.target[i].operands) {
      if (operand.is_input)
        operands.push_back(match.inputs[operand.index]);
      else
        operands.push_back(made[operand.index].empty() ? no_value : made[operand.index][operand.output]);
    }
    if (std::find(operands.begin(), operands.end(), no_value) != operands.end()) continue;
    const ComputationId id = program.store().apply(*match.target[i].op, std::move(operands));
    if (!program.has(id)) continue;
    made[i] = program.results(id);
    std::erase(needed, id);
  }
  return !needed.empty();
}

}  // namespace

bool rewrite(Program& program, const Match& match, Program::Log& log, std::vector<std::vector<ValueId>>* made) {
  check(log.empty(), "a rewrite starts with an empty log");
  if (!is_there(program, match) || makes_a_cycle(program, match)) return false;
  // The value would stay beside the target and be computed twice, unless the target is so small that there are fewer
  // operators.
  const bool leaves_something = takes_what_others_use(program, match);
  const ProgramHash before = program.hash();
  Rewriting rewriting(program, match, log);
  rewriting.run();
  if (made != nullptr) *made = rewriting.results();
  if (program.hash() == before || (leaves_something && program.operators_added(log) >= 0) ||
      program.doubles_original(log) || program.lasting_work_on_weights_added(log) > 0) {
    program.undo(log);
    log.clear();
    return false;
  }
  return true;
}

}  // namespace taso::search
