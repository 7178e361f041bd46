#include "search/exact/way_to.h"

#include <algorithm>
#include <memory>

#include "search/rewriting/rewrite.h"

namespace taso::search {
namespace {

/// Of the many ways to make a computation, so many are tried, the shortest first.
constexpr std::size_t most_makers = 8;
/// How often all steps are tried: later ones may make room for earlier ones.
constexpr std::size_t most_passes = 6;
/// How often one step is taken in sequence.
constexpr std::size_t most_times = 32;

}  // namespace

WayTo::WayTo(Program& program, const EqualityGraph& graph, const std::vector<std::size_t>& nodes)
    : program_(program), graph_(graph), chosen_(nodes.begin(), nodes.end()) {
  find_helpful();
  classify();
}

/// Steps that made what is wanted, what these were made of, and so on.
void WayTo::find_helpful() {
  std::map<std::size_t, std::vector<std::size_t>> makers;  // by node
  std::map<ValueId, std::vector<std::size_t>> ends;        // steps whose result is an input of the rule, by class
  const auto& steps = graph_.steps();
  for (std::size_t i = 0; i < steps.size(); ++i) {
    for (const std::size_t node : steps[i].made) makers[graph_.node(node)].push_back(i);
    for (std::size_t k = 0; k < steps[i].match.results.size(); ++k)
      if (steps[i].match.results[k].is_input) ends[graph_.find(steps[i].match.roots[k])].push_back(i);
  }
  std::set<std::size_t> wanted, helpful;
  std::vector<std::size_t> open;
  const auto want = [&](std::size_t node) {
    if (wanted.insert(node).second) open.push_back(node);
  };
  for (const std::size_t node : chosen_) want(node);
  while (!open.empty()) {
    const std::size_t node = open.back();
    open.pop_back();
    std::vector<std::size_t> ways = makers[node];
    for (const ValueId result : graph_.nodes()[node].results) {
      const auto& more = ends[result];
      ways.insert(ways.end(), more.begin(), more.end());
    }
    if (ways.size() > most_makers) ways.resize(most_makers);
    for (const std::size_t step : ways) {
      if (!helpful.insert(step).second) continue;
      const Match& match = steps[step].match;
      for (std::size_t i = 0; i < match.source.size(); ++i)
        if (!match.rule->nodes()[i].input)
          if (const auto source = graph_.node_of(match.source[i])) want(*source);
    }
  }
  helpful_.assign(helpful.begin(), helpful.end());
}

void WayTo::classify() {
  nodes_.clear();
  classes_.clear();
  for (const ComputationId id : program_.computations()) {
    std::vector<ValueId> operands = program_.store()[id].operands;
    bool is_known = true;
    for (ValueId& operand : operands) {
      if (operand == no_value) continue;
      operand = class_of(operand);
      is_known = is_known && operand != no_value;
    }
    if (!is_known) continue;
    const auto node = graph_.node_like(id, std::move(operands));
    if (!node) continue;
    nodes_[id] = *node;
    const auto& results = program_.results(id);
    for (std::size_t i = 0; i < results.size(); ++i)
      if (results[i] != no_value) classes_[results[i]] = graph_.nodes()[*node].results[i];
  }
}

ValueId WayTo::class_of(ValueId value) const {
  const auto found = classes_.find(value);
  return found == classes_.end() ? no_value : found->second;
}

std::size_t WayTo::node_of(ValueId value) const {
  const auto found = nodes_.find(program_.definition(value).computation);
  return found == nodes_.end() ? unknown : found->second;
}

bool WayTo::is_reached() const {
  return std::all_of(nodes_.begin(), nodes_.end(), [&](const auto& one) {
    const Computation& computation = program_.store()[one.first];
    return computation.is_leaf() || computation.weight_only || chosen_.contains(one.second);
  });
}

/// Whether a match of the program is the step of the equality graph, and changes something that should change.
bool WayTo::fits(const Match& match, const EqualityGraph::Step& step) const {
  const auto are_same = [&](const std::vector<ValueId>& ours, const std::vector<ValueId>& theirs) {
    return std::equal(ours.begin(), ours.end(), theirs.begin(), theirs.end(),
                      [&](ValueId a, ValueId b) { return class_of(a) == graph_.find(b); });
  };
  return are_same(match.roots, step.match.roots) && are_same(match.inputs, step.match.inputs) &&
         match.variables == step.match.variables && !touches_frozen(match) &&
         std::any_of(match.roots.begin(), match.roots.end(),
                     [&](ValueId root) { return !chosen_.contains(node_of(root)); });
}

bool WayTo::touches_frozen(const Match& match) const {
  for (std::size_t i = 0; i < match.source.size(); ++i) {
    if (match.rule->nodes()[i].input || program_.store()[match.source[i]].weight_only) continue;
    const auto node = nodes_.find(match.source[i]);
    if (node == nodes_.end() || graph_.nodes()[node->second].is_frozen) return true;
  }
  return false;
}

std::shared_ptr<const Match> WayTo::find_place(const EqualityGraph::Step& step) {
  const ValueId wanted = graph_.find(step.match.roots[0]);
  std::shared_ptr<const Match> found;
  for (const auto& of_class : classes_) {
    const ValueId value = of_class.first;
    const std::pair place_of_step(&step, value);
    if (of_class.second != wanted || taken_.contains(place_of_step) || refused_.contains(place_of_step)) continue;
    const ComputationId root = program_.definition(value).computation;
    if (program_.store()[root].op == nullptr) continue;
    find_matches(program_, *step.match.rule, root, [&](Match match) {
      if (!found && match.roots[0] == value && fits(match, step))
        found = std::make_shared<const Match>(std::move(match));
    });
    if (found) break;
  }
  return found;
}

std::vector<Applied> WayTo::follow(Prices& prices, const GraphCost& before) {
  std::vector<Applied> taken;
  bool goes_on = true;
  for (std::size_t pass = 0; pass < most_passes && goes_on; ++pass) {
    goes_on = false;
    refused_.clear();
    for (const std::size_t index : helpful_) {
      const EqualityGraph::Step& step = graph_.steps()[index];
      // What a step makes may be a place for the same step, without end.
      for (std::size_t times = 0; times < most_times; ++times) {
        const auto match = find_place(step);
        if (!match) break;
        Applied change;
        if (!rewrite(program_, *match, change.log, &change.made)) {
          refused_.emplace(&step, match->roots[0]);
          continue;
        }
        taken_.emplace(&step, match->roots[0]);
        change.match = match;
        change.before = taken.empty() ? before : taken.back().after;
        change.after = change.before + prices.difference(program_, change.log);
        prices.accept();
        taken.push_back(std::move(change));
        classify();
        goes_on = true;
      }
    }
  }
  return taken;
}

}  // namespace taso::search
