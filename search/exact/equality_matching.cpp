#include "search/exact/equality_matching.h"

#include <algorithm>

#include "search/rewriting/discharge.h"

namespace taso::search {
namespace {

class EqualityMatching {
 public:
  EqualityMatching(Store& store, const EqualityGraph& graph, const RewriteRule& rule,
                   const std::function<bool(Match)>& found)
      : store_(store), graph_(graph), rule_(rule), found_(found) {
    match_.rule = &rule;
    match_.inputs.assign(rule.property().inputs().size(), no_value);
    match_.variables.resize(rule.property().variables().size());
    is_bound_.assign(match_.variables.size(), false);
    match_.source.resize(rule.nodes().size());
    match_.exchanged.assign(rule.nodes().size(), false);
  }

  void run(std::size_t root) {
    const SourceNode& node = rule_.nodes()[rule_.roots()[0]];
    try_root(0, graph_.nodes()[root].results[node.output], root);
  }

 private:
  static constexpr std::size_t any = static_cast<std::size_t>(-1);
  struct Goal {
    std::size_t node;  ///< of the source
    ValueId value;     ///< the class that it should match
    std::size_t by;    ///< the only computation that counts, or `any`
  };

  void try_root(std::size_t result, ValueId value, std::size_t by) {
    if (store_.weight_only(value)) return;
    if (std::find(match_.roots.begin(), match_.roots.end(), value) != match_.roots.end()) return;
    if (result == 1 && rule_.is_symmetric() && value < match_.roots[0]) return;
    match_.roots.push_back(value);
    const std::size_t size = goals_.size();
    goals_.push_back({rule_.roots()[result], value, by});
    solve(size);
    goals_.resize(size);
    match_.roots.pop_back();
  }

  void solve(std::size_t next) {
    if (has_ended_) return;
    if (next == goals_.size()) {
      if (match_.roots.size() == rule_.roots().size())
        complete();
      else
        find_root(match_.roots.size());
      return;
    }
    const Goal goal = goals_[next];
    if (goal.value == no_value) return;
    const SourceNode& node = rule_.nodes()[goal.node];
    if (node.input) {
      ValueId& bound = match_.inputs[*node.input];
      if (bound == goal.value) return solve(next + 1);
      if (bound != no_value) return;
      bound = goal.value;
      solve(next + 1);
      match_.inputs[*node.input] = no_value;
      return;
    }
    if (goal.by != any) return solve_with(next, goal, goal.by);
    for (const std::size_t by : graph_.computed_by(goal.value)) solve_with(next, goal, by);
  }

  void solve_with(std::size_t next, const Goal& goal, std::size_t by) {
    const SourceNode& node = rule_.nodes()[goal.node];
    const EqualityGraph::Node& given = graph_.nodes()[by];
    const Computation& computation = store_[given.computation];
    if (computation.kind() != node.kind || computation.operands.size() != node.operands.size()) return;
    if (given.results[node.output] != goal.value) return;
    const std::size_t trail = trail_.size();
    if (bind_fields(node, *computation.op)) {
      match_.source[goal.node] = given.computation;
      const std::size_t size = goals_.size();
      const std::vector<ValueId> operands = computation.operands;
      for (std::size_t i = 0; i < operands.size(); ++i) goals_.push_back({node.operands[i], operands[i], any});
      solve(next + 1);
      goals_.resize(size);
      if (node.commutes && operands[0] != operands[1]) {
        goals_.push_back({node.operands[0], operands[1], any});
        goals_.push_back({node.operands[1], operands[0], any});
        match_.exchanged[goal.node] = true;
        solve(next + 1);
        match_.exchanged[goal.node] = false;
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
          graph_.used_by(match_.inputs[way.input]).size() < graph_.used_by(match_.inputs[best->input]).size())
        best = &way;
    std::vector<ValueId> level{match_.inputs[best->input]};
    for (const auto& [place_of_step, operand] : best->steps) {
      std::vector<ValueId> above;
      const SourceNode& step = rule_.nodes()[place_of_step];
      for (const ValueId value : level)
        for (const std::size_t user : graph_.used_by(value)) {
          const Computation& computation = store_[graph_.nodes()[user].computation];
          if (computation.kind() != step.kind || computation.operands.size() != step.operands.size()) continue;
          if (computation.operands[operand] != value && !step.commutes) continue;
          const ValueId above_it = graph_.nodes()[user].results[step.output];
          if (std::find(above.begin(), above.end(), above_it) == above.end()) above.push_back(above_it);
        }
      level = std::move(above);
    }
    for (const ValueId root : level) try_root(result, root, any);
  }

  void complete() {
    const ElementType element = store_.type(match_.roots.back()).element;
    if (!is_floating(element)) return;
    for (const ValueId root : match_.roots)
      if (store_.type(root).element != element) return;
    for (const ValueId input : match_.inputs)
      if (input == no_value || store_.type(input).element != element || !store_.type(input).shape) return;
    Match match = match_;
    if (!discharge(store_, match, element)) return;
    has_ended_ = !found_(std::move(match));
  }

  Store& store_;
  const EqualityGraph& graph_;
  const RewriteRule& rule_;
  const std::function<bool(Match)>& found_;
  bool has_ended_ = false;
  Match match_;
  std::vector<bool> is_bound_;
  std::vector<std::size_t> trail_;  // variables in the order of their binding
  std::vector<Goal> goals_;
};

}  // namespace

void find_matches(Store& store, const EqualityGraph& graph, const RewriteRule& rule, std::size_t root,
                  const std::function<bool(Match)>& found) {
  EqualityMatching(store, graph, rule, found).run(root);
}

}  // namespace taso::search
