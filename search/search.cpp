#include "search/search.h"

#include <algorithm>
#include <set>

#include "ops/error.h"
#include "search/candidates.h"
#include "search/extract.h"
#include "search/pieces.h"
#include "search/rewrite.h"

namespace taso {
namespace {

constexpr std::uint32_t no_state = std::numeric_limits<std::uint32_t>::max();

/// A graph that has been stood at: how it came from another.
struct State {
  std::uint32_t parent = no_state;
  std::size_t depth = 0;
  std::shared_ptr<const Match> match;
  Program::Log log;
  GraphCost cost;
};

/// A graph that nobody has made yet: a match in one that has been stood at.
struct Waiting {
  GraphCost cost;
  std::uint64_t number = 0;  // in the order of finding
  std::uint32_t parent = no_state;
  ProgramHash hash;
  std::shared_ptr<const Match> match;

  /// For a heap that has the cheapest on top, and of those the first.
  bool operator<(const Waiting& other) const { return cost != other.cost ? cost > other.cost : number > other.number; }
};

/// Rules that speak of an operator which neither the graph has nor a rule makes can never match.
std::vector<std::unique_ptr<RewriteRule>> applicable(const Program& program, const std::vector<Rule>& rules) {
  std::vector<bool> there(all_operators().size(), false);
  for (const ComputationId id : program.computations())
    if (program.store()[id].op != nullptr) there[program.store()[id].kind()] = true;
  auto compiled = compile(rules);
  std::vector<bool> used(compiled.size(), false);
  for (bool grown = true; grown;) {
    grown = false;
    for (std::size_t i = 0; i < compiled.size(); ++i) {
      if (used[i]) continue;
      const auto& kinds = compiled[i]->kinds();
      if (!std::all_of(kinds.begin(), kinds.end(), [&](std::uint32_t kind) { return there[kind]; })) continue;
      used[i] = grown = true;
      const std::function<void(const std::vector<PatternPtr>&)> note = [&](const std::vector<PatternPtr>& patterns) {
        for (const PatternPtr& pattern : patterns) {
          if (!pattern->is_input()) there[*kind_named(pattern->op)] = true;
          note(pattern->operands);
        }
      };
      note(compiled[i]->rule().target);
    }
  }
  std::vector<std::unique_ptr<RewriteRule>> result;
  for (std::size_t i = 0; i < compiled.size(); ++i)
    if (used[i]) result.push_back(std::move(compiled[i]));
  return result;
}

class Search {
 public:
  Search(const Graph& graph, const std::vector<Rule>& rules, const KernelPrices& prices, const SearchOptions& options)
      : graph_(graph),
        options_(options),
        program_(store_, graph),
        first_new_(store_.computations()),
        rules_(applicable(program_, rules)),
        prices_(program_, prices, options.sizes),
        candidates_(program_, rules_, prices_) {
    State first;
    first.cost = lowest_ = prices_.total();
    states_.push_back(std::move(first));
    seen_.insert(program_.hash());
  }

  SearchResult run(const std::stop_token& stop, const std::function<void(const SearchProgress&)>& watch) {
    stop_ = stop;
    watch_ = watch;
    const std::size_t piece = options_.piece;
    const bool is_large = piece > 0 && pieces_of(program_, piece).size() > 3;
    // Steps back are for the pieces: in a large graph there are too many places to take them.
    if (is_large) alpha_ = 1;
    expand(0);
    expanded_ = 1;
    End end = loop(options_.budget, is_large);
    alpha_ = options_.alpha;
    while (end == End::stuck) {
      const GraphCost before = states_[best_].cost;
      bool all_tried = true;
      end = search_pieces(piece, all_tried);
      if (end == End::stuck && all_tried && states_[best_].cost == before) end = End::exhausted;
    }
    return finish(end);
  }

 private:
  /// Why a part of the search is over: as in the result, or because it goes no further in this way.
  enum class End { budget, time, exhausted, stopped, stuck };

  /// Pops and expands until so many graphs have been expanded in all. With `while_better`, only as long as the cheapest that
  /// waits is better than everything before it.
  End loop(std::size_t allowance, bool while_better) {
    End end = End::exhausted;
    while (!queue_.empty()) {
      if (stop_.stop_requested())
        end = End::stopped;
      else if (options_.time_budget && std::chrono::steady_clock::now() - start_ > *options_.time_budget)
        end = End::time;
      else if (expanded_ >= allowance)
        end = End::budget;
      else if (while_better && queue_.front().cost >= states_[best_].cost)
        end = End::stuck;
      if (end != End::exhausted) break;
      const auto state = make(pop());
      if (!state) continue;
      expand(*state);
      ++expanded_;
      if (watch_) watch_({expanded_, queue_.size(), states_[0].cost.price, states_[best_].cost.price});
    }
    // What waits and is better than everything that was stood at.
    while (!queue_.empty() && queue_.front().cost < states_[best_].cost) make(pop());
    return while_better && end == End::exhausted ? End::stuck : end;
  }

  /// Each piece with the next, with an equal share of what is left of the budget. `all_tried` becomes false if one was left
  /// before everything in it was tried.
  End search_pieces(std::size_t piece, bool& all_tried) {
    move_to(best_);
    // By the values that they give: rewriting gives values other computations.
    std::vector<std::vector<ValueId>> pieces;
    for (const auto& part : pieces_of(program_, piece)) {
      auto& values = pieces.emplace_back();
      for (const ComputationId id : part)
        for (const ValueId value : program_.results(id))
          if (value != no_value) values.push_back(value);
    }
    const std::size_t pairs = std::max<std::size_t>(pieces.size(), 2) - 1;
    for (std::size_t i = 0; i < pairs; ++i) {
      if (expanded_ >= options_.budget) return End::budget;
      move_to(best_);
      std::unordered_set<ComputationId> inside;
      for (std::size_t k = i; k < std::min(i + 2, pieces.size()); ++k)
        for (const ValueId value : pieces[k])
          if (program_.definition(value).exists) inside.insert(program_.definition(value).computation);
      // And what is between: computations that rewrites made, and nothing but these pieces uses.
      std::unordered_set<ComputationId> outside;
      rest_ = 0;
      const std::vector<ComputationId> order = program_.computations();
      for (auto id = order.rbegin(); id != order.rend(); ++id) {
        if (inside.contains(*id) || is_between(*id, inside)) {
          inside.insert(*id);
        } else {
          outside.insert(*id);
          rest_ += prices_.price(*id);
        }
      }
      seen_.clear();
      seen_.insert(program_.hash());
      queue_.clear();
      lowest_ = states_[best_].cost;
      candidates_.leave_alone(std::move(outside));
      ++pieces_searched_;
      const std::size_t share = (options_.budget - expanded_) / (pairs - i);
      const std::size_t allowance = expanded_ + std::max<std::size_t>(share, 1);
      expand(best_);
      ++expanded_;
      const End end = loop(allowance, false);
      if (end == End::stopped || end == End::time) return end;
      if (end == End::budget) all_tried = false;
    }
    return expanded_ >= options_.budget ? End::budget : End::stuck;
  }

  bool is_between(ComputationId id, const std::unordered_set<ComputationId>& inside) const {
    bool used = false;
    for (const ValueId value : program_.results(id)) {
      if (value == no_value) continue;
      if (program_.is_output(value)) return false;
      for (const ComputationId user : program_.users(value)) {
        if (!inside.contains(user)) return false;
        used = true;
      }
    }
    return used && program_.store()[id].op != nullptr && place(id) >= first_new_;
  }
  Waiting pop() {
    std::pop_heap(queue_.begin(), queue_.end());
    Waiting top = std::move(queue_.back());
    queue_.pop_back();
    return top;
  }

  bool is_cheap(const GraphCost& cost) const {
    return cost < lowest_ ||
           static_cast<double>(cost.price - rest_) < alpha_ * static_cast<double>(lowest_.price - rest_);
  }

  /// Moves to the graph; nothing if it turns out to be one that has been seen, or too dear.
  std::optional<std::uint32_t> make(const Waiting& waiting) {
    if (!is_cheap(waiting.cost) && waiting.cost >= states_[best_].cost) return std::nullopt;
    move_to(waiting.parent);
    State state;
    state.parent = waiting.parent;
    state.depth = states_[waiting.parent].depth + 1;
    state.match = waiting.match;
    if (!rewrite(program_, *waiting.match, state.log)) return std::nullopt;
    state.cost = states_[waiting.parent].cost + prices_.difference(program_, state.log);
    // What was foreseen may have changed by rewrites far away that meet in an equal computation.
    const bool foreseen = program_.hash() == waiting.hash;
    if ((!foreseen && !seen_.insert(program_.hash()).second) ||
        (!is_cheap(state.cost) && state.cost >= states_[best_].cost)) {
      program_.undo(state.log);
      return std::nullopt;
    }
    prices_.moved();
    candidates_.touch(state.log);
    const auto id = static_cast<std::uint32_t>(states_.size());
    states_.push_back(std::move(state));
    here_ = id;
    if (states_[id].cost < states_[best_].cost) best_ = id;
    lowest_ = std::min(lowest_, states_[id].cost);
    return id;
  }

  void move_to(std::uint32_t target) {
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

  void expand(std::uint32_t id) {
    move_to(id);
    candidates_.repair();
    const GraphCost cost = states_[id].cost;
    for (const auto& [root, list] : candidates_.all())
      for (const Candidate& candidate : list) {
        Waiting waiting;
        waiting.cost = cost + candidate.difference;
        if (!is_cheap(waiting.cost)) continue;
        waiting.hash = program_.hash();
        waiting.hash += candidate.hash;
        if (!seen_.insert(waiting.hash).second) continue;
        waiting.number = kept_++;
        waiting.parent = id;
        waiting.match = candidate.match;
        lowest_ = std::min(lowest_, waiting.cost);
        queue_.push_back(std::move(waiting));
        std::push_heap(queue_.begin(), queue_.end());
      }
    longest_ = std::max(longest_, queue_.size());
    if (queue_.size() > 2 * options_.longest_queue) {
      // In a heap of "less is dearer", sorting puts the dearest first.
      std::sort(queue_.begin(), queue_.end());
      queue_.erase(queue_.begin(), queue_.end() - static_cast<std::ptrdiff_t>(options_.longest_queue));
      std::make_heap(queue_.begin(), queue_.end());
    }
  }

  SearchResult finish(End end) {
    SearchResult result;
    result.end = end == End::budget    ? SearchResult::End::budget
                 : end == End::time    ? SearchResult::End::time
                 : end == End::stopped ? SearchResult::End::stopped
                                       : SearchResult::End::exhausted;
    result.cost_before = states_[0].cost.price;
    result.cost_after = states_[best_].cost.price;
    result.counts = {rules_.size(), expanded_, candidates_.matched(), kept_, longest_, pieces_searched_, 0, 0};
    std::vector<std::uint32_t> path;
    for (std::uint32_t id = best_; id != 0; id = states_[id].parent) path.push_back(id);
    std::reverse(path.begin(), path.end());
    move_to(0);
    Extractor extractor(program_, graph_);
    for (const std::uint32_t id : path) {
      const State& state = states_[id];
      RewriteStep step = extractor.describe(*state.match, state.log);
      program_.redo(state.log);
      prices_.moved();
      here_ = id;
      extractor.note(state.log);
      step.cost_before = states_[state.parent].cost.price;
      step.cost_after = state.cost.price;
      result.steps.push_back(std::move(step));
    }
    result.graph = extractor.graph();
    check(prices_.total() == states_[best_].cost, "the cost that was kept up to date is the cost");
    result.replacements = extractor.replacements(options_.is_named);
    result.counts.computations = store_.computations();
    result.counts.values = store_.values();
    return result;
  }

  const Graph& graph_;
  const SearchOptions& options_;
  Store store_;
  Program program_;
  std::size_t first_new_;  // computations from here on are not of the graph that was given
  std::vector<std::unique_ptr<RewriteRule>> rules_;
  Prices prices_;
  Candidates candidates_;
  std::vector<State> states_;
  std::vector<Waiting> queue_;  // a heap
  std::unordered_set<ProgramHash, HashProgramHash> seen_;
  std::uint32_t here_ = 0, best_ = 0;
  GraphCost lowest_;  // of everything seen, also of what waits
  Cost rest_ = 0;     // of what is outside of the pieces that are searched
  double alpha_ = options_.alpha;
  std::size_t expanded_ = 0, pieces_searched_ = 0;
  std::stop_token stop_;
  std::function<void(const SearchProgress&)> watch_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::uint64_t kept_ = 0;
  std::size_t longest_ = 0;
};

}  // namespace

std::string_view text_of(SearchResult::End end) {
  switch (end) {
    case SearchResult::End::budget: return "the budget is spent";
    case SearchResult::End::time: return "the time is up";
    case SearchResult::End::exhausted: return "nothing is left to try";
    case SearchResult::End::stopped: return "it was stopped";
  }
  return "";
}

SearchResult search(const Graph& graph, const std::vector<Rule>& rules, const KernelPrices& prices,
                    const SearchOptions& options, const std::stop_token& stop,
                    const std::function<void(const SearchProgress&)>& watch) {
  return Search(graph, rules, prices, options).run(stop, watch);
}

}  // namespace taso
