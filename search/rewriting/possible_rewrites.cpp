#include "search/rewriting/possible_rewrites.h"

#include <algorithm>
#include <string_view>

#include "search/rewriting/rewrite.h"

namespace taso::search {
namespace {

/// A value with more users, such as a constant that half of the network uses, does not make its users neighbours.
constexpr std::size_t most_users = 200;
/// The savings of steps are computed again up to so many operators above a change, however small the rules are: which
/// kernels are merged there depends on what lies between.
constexpr std::size_t reach_of_prices = 4;
/// Matching steps, of 20 to 50 ns each, between two calls of should_end().
constexpr std::size_t steps_between_questions = 1024;

void add_trial(Trials& trials, std::string_view rule, const RuleTrials& more) {
  const auto found = trials.find(rule);
  if (found == trials.end()) {
    trials.emplace(rule, more);
    return;
  }
  found->second.matched += more.matched;
  found->second.saved = std::max(found->second.saved, more.saved);
}

}  // namespace

void add(Trials& trials, const Trials& more) {
  for (const auto& [rule, one] : more) add_trial(trials, rule, one);
}

PossibleRewrites::PossibleRewrites(Program& program, const std::vector<const RewriteRule*>& rules, Prices& prices,
                                   std::function<bool()> should_end)
    : program_(program),
      prices_(prices),
      by_kind_(all_operators().size()),
      should_end_(should_end ? std::move(should_end) : [] { return false; }) {
  depth_ = reach_of_prices;
  for (const RewriteRule* rule : rules) {
    by_kind_[rule->nodes()[rule->roots()[0]].kind].push_back(rule);
    depth_ = std::max(depth_, rule->depth());
    if (rule->roots().size() > 1) depth_of_several_ = std::max(depth_of_several_, rule->depth());
  }
}

void PossibleRewrites::leave_alone(std::unordered_set<ComputationId> outside) {
  outside_ = std::move(outside);
  all_.clear();
  touched_.clear();
  changed_.clear();
  left_.clear();
  look_at(program_.computations());
}

/// The order of the roots decides the names of new values.
void PossibleRewrites::look_at(std::vector<ComputationId> roots) {
  std::size_t done = 0;
  while (done < roots.size() && look(roots[done])) ++done;
  roots.erase(roots.begin(), roots.begin() + static_cast<std::ptrdiff_t>(done));
  for (const ComputationId id : roots) all_.erase(id);  // they may belong to another graph
  left_ = std::move(roots);
}

bool PossibleRewrites::look(ComputationId root) {
  all_.erase(root);
  if (outside_.contains(root)) return true;
  if (!program_.has(root) || !program_.store()[root].is_work()) return true;
  std::vector<PossibleRewrite> here;
  std::vector<Match> matches;
  const std::function<bool()> asks = [this] { return ++steps_ % steps_between_questions == 0 && should_end_(); };
  const auto found = [&](Match match) { matches.push_back(std::move(match)); };
  for (const RewriteRule* rule : by_kind_[program_.store()[root].kind()])
    if (!find_matches(program_, *rule, root, found, asks)) return false;
  for (Match& match : matches) {
    if (should_end_()) return false;
    const auto& nodes = match.rule->nodes();
    bool inside = true;
    for (std::size_t i = 0; i < nodes.size() && !outside_.empty(); ++i)
      inside = inside &&
               (nodes[i].input || program_.store()[match.source[i]].weight_only || !outside_.contains(match.source[i]));
    if (!inside) continue;
    ++matched_;
    const ProgramHash before = program_.hash();
    Program::Log log;
    if (!rewrite(program_, match, log)) continue;
    PossibleRewrite candidate;
    candidate.hash = program_.hash();
    candidate.hash -= before;
    candidate.difference = prices_.difference(program_, log);
    program_.undo(log);
    add_trial(trials_, match.rule->name(), {1, -candidate.difference.charged()});
    candidate.match = std::make_shared<const Match>(std::move(match));
    here.push_back(std::move(candidate));
  }
  if (!here.empty()) all_.emplace(root, std::move(here));
  return true;
}

void PossibleRewrites::touch(const Program::Log& log) {
  for (const Change& change : log) {
    if (change.kind == Change::Kind::output || change.kind == Change::Kind::merged) {
      touched_.insert(change.names.begin(), change.names.end());
      continue;
    }
    changed_.insert(change.computation);
    for (const ValueId operand : program_.store()[change.computation].operands)
      if (operand != no_value) touched_.insert(operand);
    for (const ValueId name : change.names)
      if (name != no_value) touched_.insert(name);
  }
}

void PossibleRewrites::affect(ValueId value, std::size_t levels, std::unordered_set<ComputationId>& roots) const {
  std::vector<ValueId> border{value};
  for (; levels > 0 && !border.empty(); --levels) {
    std::vector<ValueId> above;
    for (const ValueId here : border) {
      const auto& users = program_.users(here);
      if (users.size() > most_users) continue;
      for (const ComputationId user : users) {
        roots.insert(user);
        for (const ValueId result : program_.results(user))
          if (result != no_value) above.push_back(result);
      }
    }
    border = std::move(above);
  }
}

void PossibleRewrites::repair() {
  std::unordered_set<ComputationId> roots = changed_;
  // Matches with several results share inputs: go from the changes down, and up again.
  std::unordered_set<ValueId> shared;
  std::vector<ValueId> border;
  for (const ComputationId id : changed_) {
    const auto& operands = program_.store()[id].operands;
    border.insert(border.end(), operands.begin(), operands.end());
  }
  for (std::size_t level = 0; level < depth_of_several_; ++level) {
    std::vector<ValueId> below;
    for (const ValueId value : border) {
      if (value == no_value || !shared.insert(value).second || !program_.definition(value).exists) continue;
      const auto& operands = program_.store()[program_.definition(value).computation].operands;
      below.insert(below.end(), operands.begin(), operands.end());
    }
    border = std::move(below);
  }
  for (const ValueId value : shared) affect(value, depth_of_several_, roots);
  for (const ValueId value : touched_) {
    if (program_.definition(value).exists) roots.insert(program_.definition(value).computation);
    affect(value, depth_, roots);
  }
  touched_.clear();
  changed_.clear();
  roots.insert(left_.begin(), left_.end());
  // Sort, because the order of sets is not fixed.
  std::vector<ComputationId> order(roots.begin(), roots.end());
  std::sort(order.begin(), order.end());
  look_at(std::move(order));
}

}  // namespace taso::search
