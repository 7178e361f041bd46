#include "search/run_choice.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <map>
#include <optional>

#include "ops/core/error.h"
#include "ops/support/threads.h"
#include "search/rewriting/rewrite.h"

namespace taso::search {
namespace {

constexpr RunTime too_dear{std::numeric_limits<cost::Cost>::max() / 4, std::numeric_limits<cost::Cost>::max() / 4};

}  // namespace

RunChoice::RunChoice(const Graph& graph, Program& program, Prices& prices, PossibleRewrites& candidates,
                     const GraphCost& before, std::vector<Applied>& applied, OpaqueNodes& opaque,
                     const RunChoiceOptions& options)
    : program_(program),
      prices_(prices),
      candidates_(candidates),
      before_(before),
      applied_(applied),
      steps_(program, prices, before, applied),
      options_(options),
      extractor_(program, graph, &opaque) {
  time_ = applied_.empty() ? options_.time_before : with_charge(options_.time_of(extractor_.graph()), cost());
  known_.emplace(program_.hash(), time_);
}

void RunChoice::run() {
  const auto least_gain = [&] { return preference().least_gain(time_); };
  while (take_best_of(moves_that_leave_out(left() / 2), noise())) {
  }
  while (take_best_of(moves_that_add(left() / 2), least_gain())) {
  }
  if (!preference().pays(time_, cost().operators - before_.operators)) {
    take_nothing();
    while (take_best_of(moves_that_add(left() / 2), least_gain())) {
    }
  }
  if (!preference().pays(time_, cost().operators - before_.operators)) take_nothing();
}

RunChoice::Way RunChoice::way_with(const Move& move) const {
  Way way = steps_.way_without(move.without);
  if (move.with) way.push_back(move.with);
  return way;
}

RunTime RunChoice::with_charge(const RunTime& time, const GraphCost& cost) {
  const cost::Cost charge = std::max<cost::Cost>(cost.charge, 0);
  return {time.concurrent + charge, time.sequential + charge};
}

RunTime RunChoice::without_charge(const RunTime& time) const {
  const cost::Cost charge = std::max<cost::Cost>(cost().charge, 0);
  return {time.concurrent - charge, time.sequential - charge};
}

/// Computes the run times, but not for graphs that cost more in sum than the input graph.
void RunChoice::judge(std::vector<Move>& moves) {
  struct Asked {
    ProgramHash hash;
    Graph graph;
    GraphCost cost;
  };
  std::vector<Asked> graphs;
  std::vector<ProgramHash> hashes;
  for (Move& move : moves) move.time = too_dear;
  for (const Move& move : moves) {
    if (options_.should_end()) break;
    AppliedSteps::Back back = steps_.go(way_with(move), false);
    hashes.push_back(program_.hash());
    if (graphs.size() < left() && known_.emplace(program_.hash(), too_dear).second) {
      const GraphCost total = prices_.total();
      if (total.price <= before_.price && prices_.allows(total))
        graphs.push_back({program_.hash(), extractor_.graph(), total});
    }
    steps_.go_back(std::move(back));
  }
  std::vector<std::optional<RunTime>> times(graphs.size());
  parallel_for(options_.jobs, static_cast<std::int64_t>(graphs.size()), [&](std::int64_t task) {
    const auto i = static_cast<std::size_t>(task);
    if (!options_.should_end()) times[i] = with_charge(options_.time_of(graphs[i].graph), graphs[i].cost);
  });
  for (std::size_t i = 0; i < graphs.size(); ++i) {
    known_[graphs[i].hash] = times[i].value_or(too_dear);
    if (times[i]) ++tried_;
  }
  for (std::size_t i = 0; i < hashes.size(); ++i)
    if (const auto found = known_.find(hashes[i]); found != known_.end()) moves[i].time = found->second;
}

/// Takes the moves that pay, the best first, as long as they still pay together; false if none does.
bool RunChoice::take_best_of(std::vector<Move> moves, cost::Cost least_gain) {
  judge(moves);
  const RunPreference preferred = preference();
  std::stable_sort(moves.begin(), moves.end(),
                   [&](const Move& a, const Move& b) { return preferred.comes_before(a.time, b.time); });
  const RunTime before = time_;
  bool is_first = true;
  for (const Move& move : moves) {
    if (options_.should_end() || !preferred.is_better(move.time, before, least_gain)) break;
    std::vector<Move> again{move};
    if (!is_first) judge(again);
    if (!preferred.is_better(again[0].time, time_, least_gain)) continue;
    take(again[0]);
    is_first = false;
  }
  return !is_first;
}

void RunChoice::take(const Move& move) {
  const AppliedSteps::Back back = steps_.go(way_with(move), true);
  for (const Applied& change : back.undone) candidates_.touch(change.log);
  for (std::size_t i = back.common; i < applied_.size(); ++i) candidates_.touch(applied_[i].log);
  time_ = move.time;
}

void RunChoice::take_nothing() {
  Move nothing;
  for (const Applied& change : applied_) nothing.without.insert(change.match.get());
  nothing.time = options_.time_before;
  take(nothing);
}

/// All steps of one rule, all others, all from some step on, and then single steps, those that save the least in sum
/// first.
std::vector<RunChoice::Move> RunChoice::moves_that_leave_out(std::size_t most) const {
  // A short sequence is tried up to each of its steps, a long one up to each eighth of it.
  constexpr std::size_t short_sequence = 24, most_beginnings = 8;
  std::vector<Move> moves;
  std::set<std::string> rules;
  for (const Applied& change : applied_) rules.insert(change.match->rule->name());
  for (const std::string& rule : rules) {
    Move its, others;
    for (const Applied& change : applied_)
      (change.match->rule->name() == rule ? its : others).without.insert(change.match.get());
    moves.push_back(std::move(its));
    if (rules.size() > 2) moves.push_back(std::move(others));
  }
  const std::size_t beginnings = applied_.size() <= short_sequence ? applied_.size() : most_beginnings;
  for (std::size_t i = 1; i < beginnings; ++i) {
    Move& rest = moves.emplace_back();
    for (std::size_t k = i * applied_.size() / beginnings; k < applied_.size(); ++k)
      rest.without.insert(applied_[k].match.get());
  }
  std::vector<const Applied*> order;
  for (const Applied& change : applied_) order.push_back(&change);
  std::stable_sort(order.begin(), order.end(), [](const Applied* a, const Applied* b) {
    return a->before.price - a->after.price < b->before.price - b->after.price;
  });
  for (const Applied* change : order) moves.push_back({{change->match.get()}, nullptr, {}});
  if (moves.size() > most) moves.resize(most);
  return moves;
}

/// Those that cost the least in sum first. A step that changes the price by no more than noise, and saves neither an
/// operator nor a kernel, only reorders the same kernels: such a saving is luck, and is lost when the graph becomes a
/// model again.
std::vector<RunChoice::Move> RunChoice::moves_that_add(std::size_t most) {
  candidates_.repair();
  std::vector<const PossibleRewrite*> order;
  for (const auto& [root, list] : candidates_.all())
    for (const PossibleRewrite& candidate : list)
      if (cost().price + candidate.difference.price <= before_.price &&
          (std::abs(candidate.difference.price) > noise() || candidate.difference.operators < 0 ||
           candidate.difference.kernels < 0))
        order.push_back(&candidate);
  std::stable_sort(order.begin(), order.end(),
                   [](const PossibleRewrite* a, const PossibleRewrite* b) { return a->difference < b->difference; });
  std::vector<Move> moves;
  for (const PossibleRewrite* candidate : order) {
    if (moves.size() == most) break;
    moves.push_back({{}, candidate->match, {}});
  }
  return moves;
}

}  // namespace taso::search
