#include "search/exploration.h"

#include <algorithm>

#include "ops/core/error.h"
#include "search/rewriting/rewrite.h"

namespace taso::search {
namespace {

/// A rewrite that was already followed in another graph counts as this many more steps.
constexpr std::size_t delay = 4;

}  // namespace

Border border_of(const Program& program, const Surroundings& surroundings) {
  Border border;
  for (const Value& value : surroundings.images) border.images.insert(program.value_of(value));
  for (const Value& value : surroundings.outputs) border.outputs.insert(program.value_of(value));
  return border;
}

std::unordered_set<ComputationId> frozen_in(const Program& program, const Surroundings& surroundings) {
  std::unordered_set<ComputationId> frozen;
  for (const auto& [value, id] : program.original_values())
    if (value && surroundings.frozen.contains(value.node)) frozen.insert(program.definition(id).computation);
  return frozen;
}

Exploration::Exploration(const Graph& graph, const std::vector<const RewriteRule*>& rules,
                         const cost::KernelPrices& prices, const ExplorationOptions& options,
                         const Surroundings& surroundings)
    : options_(options),
      program_(store_, graph),
      prices_(program_, prices, options.pricing, options.growth),
      candidates_(program_, rules, prices_, options.should_end),
      queue_(options.longest_queue) {
  prices_.set_border(border_of(program_, surroundings));
  candidates_.leave_alone(frozen_in(program_, surroundings));
  State first;
  first.cost = lowest_ = prices_.total();
  states_.push_back(std::move(first));
  seen_.insert(program_.hash());
}

void Exploration::run(std::size_t expansions, const std::function<bool()>& should_end) {
  const std::size_t allowance = expanded_ + expansions;
  if (!begun_ && expansions > 0) {
    begun_ = true;
    expand(0);
    ++expanded_;
  }
  while (!queue_.empty() && expanded_ < allowance && !should_end()) {
    const auto waiting = pop();
    if (!waiting) continue;
    const auto state = make(*waiting);
    if (!state) continue;
    tried_.insert(waiting->change);
    expand(*state);
    ++expanded_;
  }
  // Make the queued graphs that are better than every graph made so far.
  while (!queue_.empty() && queue_.lowest() < states_[best_].cost) make(queue_.pop_cheapest());
}

/// The next graph to make. The first use of a rewrite shows what it makes possible; in another, unrelated graph it
/// would lead to the same. Such graphs are delayed, but not dropped, because a rewrite may need several unrelated ones.
std::optional<Waiting> Exploration::pop() {
  Waiting waiting = expanded_ % 2 == 0 ? queue_.pop_nearest() : queue_.pop_cheapest();
  if (waiting.is_late || waiting.cost < states_[best_].cost || !tried_.contains(waiting.change)) return waiting;
  waiting.is_late = true;
  waiting.steps += delay;
  queue_.push(std::move(waiting));
  return std::nullopt;
}

bool Exploration::is_cheap(const GraphCost& cost) const {
  if (!prices_.allows(cost)) return false;
  return cost < lowest_ ||
         static_cast<double>(cost.charged()) < options_.alpha * static_cast<double>(lowest_.charged());
}

/// Moves to the graph; nothing if it turns out to be too expensive or already seen.
std::optional<std::uint32_t> Exploration::make(const Waiting& waiting) {
  if (!is_cheap(waiting.cost) && (waiting.cost >= states_[best_].cost || !prices_.allows(waiting.cost)))
    return std::nullopt;
  move_to(waiting.parent);
  State state;
  state.parent = waiting.parent;
  state.depth = states_[waiting.parent].depth + 1;
  state.match = waiting.match;
  if (!rewrite(program_, *waiting.match, state.log, &state.made)) return std::nullopt;
  state.cost = states_[waiting.parent].cost + prices_.difference(program_, state.log);
  // Rewrites far away that lead to an equal computation may have changed the result.
  const bool foreseen = program_.hash() == waiting.hash;
  if ((!foreseen && !seen_.insert(program_.hash()).second) ||
      (!is_cheap(state.cost) && (state.cost >= states_[best_].cost || !prices_.allows(state.cost)))) {
    program_.undo(state.log);
    return std::nullopt;
  }
  prices_.moved();
  candidates_.touch(state.log);
  const auto id = static_cast<std::uint32_t>(states_.size());
  const bool is_better = state.cost < states_[best_].cost;
  state.steps = is_better ? 0 : waiting.steps;
  lowest_ = std::min(lowest_, state.cost);
  states_.push_back(std::move(state));
  here_ = id;
  if (is_better) best_ = id;
  return id;
}

void Exploration::move_to(std::uint32_t target) {
  if (target == here_) return;
  prices_.moved();
  std::vector<std::uint32_t> down;
  std::uint32_t up = here_;
  for (std::uint32_t other = target; up != other;) {
    if (states_[up].depth >= states_[other].depth) {
      program_.undo(states_[up].log);
      candidates_.touch(states_[up].log);
      up = states_[up].parent;
    } else {
      down.push_back(other);
      other = states_[other].parent;
    }
  }
  for (auto state = down.rbegin(); state != down.rend(); ++state) {
    program_.redo(states_[*state].log);
    candidates_.touch(states_[*state].log);
  }
  here_ = target;
}

void Exploration::expand(std::uint32_t id) {
  move_to(id);
  candidates_.repair();
  const GraphCost cost = states_[id].cost;
  for (const auto& [root, list] : candidates_.all())
    for (const PossibleRewrite& candidate : list) {
      Waiting waiting;
      waiting.cost = cost + candidate.difference;
      if (!is_cheap(waiting.cost)) continue;
      waiting.hash = program_.hash();
      waiting.hash += candidate.hash;
      if (!seen_.insert(waiting.hash).second) continue;
      ++kept_;
      waiting.parent = id;
      waiting.change = candidate.hash;
      waiting.match = candidate.match;
      waiting.steps = waiting.cost < lowest_ ? 0 : states_[id].steps + 1;
      if (waiting.steps > 0 && tried_.contains(waiting.change)) {
        waiting.is_late = true;
        waiting.steps += delay;
      }
      lowest_ = std::min(lowest_, waiting.cost);
      queue_.push(std::move(waiting));
    }
}

void Exploration::retrace(const std::function<void(const Step&)>& take) {
  std::vector<std::uint32_t> path;
  for (std::uint32_t id = best_; id != 0; id = states_[id].parent) path.push_back(id);
  move_to(0);
  for (auto id = path.rbegin(); id != path.rend(); ++id) {
    const State& state = states_[*id];
    take({*state.match, state.log, state.made, state.cost - states_[state.parent].cost});
    move_to(*id);
  }
}

}  // namespace taso::search
