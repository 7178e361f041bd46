#include "search/rewriting/matcher.h"

#include <algorithm>

#include "ops/core/error.h"
#include "search/rewriting/discharge.h"

namespace taso::search {
namespace {

class Matching {
 public:
  Matching(Program& program, const RewriteRule& rule, const std::function<void(Match)>& found,
           const std::function<bool()>& should_end)
      : program_(program), store_(program.store()), rule_(rule), found_(found), should_end_(should_end) {
    match_.rule = &rule;
    match_.inputs.assign(rule.property().inputs().size(), no_value);
    match_.variables.resize(rule.property().variables().size());
    is_bound_.assign(match_.variables.size(), false);
    match_.source.resize(rule.nodes().size());
    match_.exchanged.assign(rule.nodes().size(), false);
  }

  /// False if should_end() ended it.
  bool run(ComputationId root) {
    const SourceNode& node = rule_.nodes()[rule_.roots()[0]];
    if (store_[root].kind() != node.kind) return true;
    const ValueId value = program_.results(root)[node.output];
    if (value != no_value) try_root(0, value);
    return !has_ended_;
  }

 private:
  void try_root(std::size_t result, ValueId value) {
    if (store_.weight_only(value) || !program_.is_used(value)) return;
    if (std::find(match_.roots.begin(), match_.roots.end(), value) != match_.roots.end()) return;
    if (result == 1 && rule_.is_symmetric() && value < match_.roots[0]) return;
    match_.roots.push_back(value);
    const std::size_t size = goals_.size();
    goals_.emplace_back(rule_.roots()[result], value);
    solve(size);
    goals_.resize(size);
    match_.roots.pop_back();
  }

  void solve(std::size_t next) {
    if (has_ended_ || (should_end_ && (has_ended_ = should_end_()))) return;
    if (next == goals_.size()) {
      if (match_.roots.size() == rule_.roots().size())
        complete();
      else
        find_root(match_.roots.size());
      return;
    }
    const auto [place_of_node, value] = goals_[next];
    if (value == no_value) return;
    const SourceNode& node = rule_.nodes()[place_of_node];
    if (node.input) {
      ValueId& bound = match_.inputs[*node.input];
      if (bound == value) return solve(next + 1);
      if (bound != no_value) return;
      bound = value;
      solve(next + 1);
      match_.inputs[*node.input] = no_value;
      return;
    }
    const Program::Definition& definition = program_.definition(value);
    if (!definition.exists || definition.output != node.output) return;
    const Computation& computation = store_[definition.computation];
    if (computation.kind() != node.kind || computation.operands.size() != node.operands.size()) return;
    const std::size_t trail = trail_.size();
    if (bind_fields(node, *computation.op)) {
      match_.source[place_of_node] = definition.computation;
      const std::size_t size = goals_.size();
      const auto& operands = computation.operands;
      for (std::size_t i = 0; i < operands.size(); ++i) goals_.emplace_back(node.operands[i], operands[i]);
      solve(next + 1);
      goals_.resize(size);
      if (node.commutes && operands[0] != operands[1]) {
        goals_.emplace_back(node.operands[0], operands[1]);
        goals_.emplace_back(node.operands[1], operands[0]);
        match_.exchanged[place_of_node] = true;
        solve(next + 1);
        match_.exchanged[place_of_node] = false;
        goals_.resize(size);
      }
    }
    for (; trail_.size() > trail; trail_.pop_back()) is_bound_[trail_.back()] = false;
  }

  bool bind(std::size_t variable, const Attribute& value) {
    if (is_bound_[variable]) return match_.variables[variable] == value;
    match_.variables[variable] = value;
    is_bound_[variable] = true;
    trail_.push_back(variable);
    return true;
  }

  bool bind_fields(const SourceNode& node, const KnownOperator& op) {
    return fields_fit(node, op, [&](std::size_t variable, const Attribute& value) { return bind(variable, value); });
  }

  /// Goes up from the input with the fewest users.
  void find_root(std::size_t result) {
    const WayUp* best = nullptr;
    for (const WayUp& way : rule_.ways()[result - 1])
      if (best == nullptr ||
          program_.users(match_.inputs[way.input]).size() < program_.users(match_.inputs[best->input]).size())
        best = &way;
    std::vector<ValueId> level{match_.inputs[best->input]};
    for (const auto& [node, operand] : best->steps) {
      std::vector<ValueId> above;
      const SourceNode& step = rule_.nodes()[node];
      for (const ValueId value : level)
        for (const ComputationId user : program_.users(value)) {
          const Computation& computation = store_[user];
          if (computation.kind() != step.kind || computation.operands.size() != step.operands.size()) continue;
          if (computation.operands[operand] != value && !step.commutes) continue;
          const ValueId result_value = program_.results(user)[step.output];
          if (result_value != no_value && std::find(above.begin(), above.end(), result_value) == above.end())
            above.push_back(result_value);
        }
      level = std::move(above);
    }
    for (const ValueId root : level) try_root(result, root);
  }

  void complete() {
    ElementType element = ElementType::undefined;
    for (const ValueId root : match_.roots) element = store_.type(root).element;
    if (!is_floating(element)) return;
    for (const ValueId root : match_.roots)
      if (store_.type(root).element != element) return;
    for (const ValueId input : match_.inputs)
      if (input == no_value || store_.type(input).element != element || !store_.type(input).shape) return;
    Match match = match_;
    if (!discharge(store_, match, element)) return;
    found_(std::move(match));
  }

  Program& program_;
  Store& store_;
  const RewriteRule& rule_;
  const std::function<void(Match)>& found_;
  const std::function<bool()>& should_end_;
  bool has_ended_ = false;
  Match match_;
  std::vector<bool> is_bound_;
  std::vector<std::size_t> trail_;                      // variables in the order of their binding
  std::vector<std::pair<std::size_t, ValueId>> goals_;  // nodes of the source, and the values they should match
};

}  // namespace

namespace {

/// A quick look at the operands' operators: most rules fail here, before anything is set up.
bool may_match(const Program& program, const RewriteRule& rule, ComputationId root) {
  const Computation& computation = program.store()[root];
  const SourceNode& node = rule.nodes()[rule.roots()[0]];
  if (computation.kind() != node.kind || computation.operands.size() != node.operands.size()) return false;
  const auto fits = [&](std::size_t operand, std::size_t place_in_source) {
    const SourceNode& wanted = rule.nodes()[node.operands[place_in_source]];
    if (wanted.input) return true;
    const ValueId value = computation.operands[operand];
    const Program::Definition& definition = program.definition(value);
    return definition.exists && program.store()[definition.computation].kind() == wanted.kind;
  };
  bool straight = true;
  for (std::size_t i = 0; i < node.operands.size() && straight; ++i) straight = fits(i, i);
  return straight || (node.commutes && fits(0, 1) && fits(1, 0));
}

}  // namespace

bool find_matches(Program& program, const RewriteRule& rule, ComputationId root,
                  const std::function<void(Match)>& found, const std::function<bool()>& should_end) {
  return !may_match(program, rule, root) || Matching(program, rule, found, should_end).run(root);
}

}  // namespace taso::search
