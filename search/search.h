// The search: steps that improve the whole graph, then searches of its parts; see README.md.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "cost/plan/kernel.h"
#include "ops/graph/graph.h"
#include "rules/language/rewrite_certificate.h"
#include "rules/language/rule.h"
#include "search/preference.h"

namespace taso::search {

class RegionSolver;

struct SearchOptions {
  double alpha = 1.05;
  std::size_t budget = 1000;  ///< graphs to expand
  std::optional<std::chrono::duration<double>> time_budget;
  std::size_t longest_queue = 1'000'000;  ///< queued graphs; beyond twice as many, the most expensive are dropped
  /// A graph of more than three times `piece` operators is searched in parts: pieces of about this many operators, each
  /// with its successor, cut where few values cross. Equal parts are searched once. 0: never.
  std::size_t piece = 24;
  /// A graph with more operators is searched in parts only, each once: steps in the whole graph, and the last choice by
  /// run time, would take time that grows with the square of its size.
  std::int64_t most_operators = 4000;
  unsigned jobs = 1;                   ///< parts searched concurrently; the result does not depend on it
  cost::DimensionSizes sizes;          ///< the sizes of unknown dimensions for prices; 1 if missing
  std::optional<cost::Layout> layout;  ///< if missing, the one in which the graph costs less
  /// More rules, only for single steps that improve the whole graph at once.
  std::vector<rules::Rule> direct_rules;
  /// The cost of larger weights: a price for each additional byte, and a limit, the larger of this share of the weights
  /// and these bytes.
  cost::Cost price_of_weight_byte = 0;
  std::optional<double> most_growth;
  std::int64_t least_growth = 0;
  /// Whether a weight that is computed ahead is usable; it is not if it overflows. Steps that make an unusable weight
  /// are left out.
  std::function<bool(const Value&)> is_usable;
  /// Improves regions in another way, after they were searched, and tells how far from the best they are; none if null.
  const RegionSolver* solver = nullptr;
  std::size_t solver_piece = 8;  ///< like `piece`, for the solver's regions: small ones can be solved to the end
  bool explores = true;          ///< false: regions are left to the solver
  bool keeps_way = false;        ///< keep the intermediate graphs in the result
  /// Which values of the graph replacements may mention; all, if missing.
  std::function<bool(const Value&)> is_named;
  /// The run time of a graph in a layout, where concurrent kernels make it differ from the sum of its kernels. The last
  /// choice uses it (run_choice.h), except for graphs of more than `most_operators`. Throws InputError for a graph
  /// whose run time cannot be predicted; then the sum decides. Called from several threads.
  std::function<RunTime(const Graph&, cost::Layout)> time_of_run;
};

/// How the values of the input graph are computed now, in terms of such values: export needs this to leave everything
/// else untouched.
struct Replacements {
  std::vector<std::pair<Value, Value>> rewritten;  ///< a value, and its new computation from others of these values
  std::vector<std::pair<Value, Value>> merged;     ///< a value, and another that it turned out to be equal to
  /// False if this form is not possible: a new value looks like an old one that is now computed differently.
  bool complete = true;
};

/// How far from the best a region of a result is: equal regions once.
struct RegionGap {
  std::size_t places = 0;        ///< how many regions are equal to this one
  std::size_t operators = 0;     ///< of the region and its neighbours
  cost::Cost cost = 0;           ///< sum of the kernels' prices, neighbours included
  cost::Cost least = 0;          ///< no graph that was seen costs less
  std::size_t computations = 0;  ///< different ones, in all graphs that were seen
  std::size_t rounds = 0;        ///< in which every rule was applied everywhere
  bool is_saturated = false;     ///< nothing more follows from the rules: no graph that they lead to costs less
  bool is_exact = false;         ///< some graph has the least sum of least prices; otherwise the limit is lower still
  cost::Cost chosen = 0;         ///< the cost of the cheapest graph, as chosen; 0 if there is none
  std::size_t steps = 0;         ///< that rewriting took towards the chosen graph
  bool is_reached = false;       ///< they lead to it

  /// How much cheaper another graph can be at most.
  double percent() const { return cost > 0 ? 100 * (1 - static_cast<double>(least) / static_cast<double>(cost)) : 0; }
};

struct SearchResult {
  enum class End { budget, time, exhausted, stopped, size, solved } end = End::exhausted;
  Graph graph;  ///< in the same pool
  cost::Cost cost_before = 0, cost_after = 0;
  RunTime run_before, run_after;                       ///< the predicted run times, if they were requested
  cost::Layout layout = cost::Layout::channels_first;  ///< the layout it was priced in
  std::vector<rules::RewriteStep> steps;               ///< that lead to the result
  std::vector<Graph> way;                              ///< the graph after each step, if requested
  Replacements replacements;
  struct Counts {
    std::size_t rules = 0;     ///< that can match the graph's operators, without direct ones
    std::size_t expanded = 0;  ///< graphs whose rewrites were tried
    std::size_t matched = 0;   ///< places where a rule applied
    std::size_t kept = 0;      ///< graphs that were new and cheap enough
    std::size_t tried = 0;     ///< graphs timed in the last choice
    std::size_t regions = 0;   ///< parts that were searched, equal ones once
    std::size_t solved = 0;    ///< parts that the solver got, equal ones once
    std::size_t improved = 0;  ///< of these, parts for which it found a cheaper graph
    std::size_t unsolved = 0;  ///< parts of the result that it did not get, because the search had to end
  } counts;
  std::vector<RegionGap> gaps;  ///< of the regions of the result, if there is a solver
  /// What a rule did at the places where it applied, whether or not the result uses it.
  struct Trial {
    std::string rule;
    std::size_t matched = 0;
    cost::Cost saved = 0;  ///< at the best place, as a single step; negative if it would have cost something
  };
  std::vector<Trial> trials;  ///< by name
};

std::string_view text_of(SearchResult::End end);

/// Recomputes the costs of a result with other prices. Needs the intermediate graphs, and the same options except for
/// the layout.
void reprice(SearchResult& found, const Graph& graph, const cost::KernelPrices& prices, const SearchOptions& options);

struct SearchProgress {
  std::size_t expanded = 0;
  cost::Cost before = 0;
  cost::Cost best =
      0;  ///< includes results in parts that are not yet applied to the whole graph, where they may save less
};

/// Returns the best graph found; the input graph, if no other is cheaper, or equally cheap with fewer operators.
/// Deterministic for the same graph, rules, costs and budget.
SearchResult search(const Graph& graph, const std::vector<rules::Rule>& rules, const cost::KernelPrices& prices,
                    const SearchOptions& options = {}, const std::stop_token& stop = {},
                    const std::function<void(const SearchProgress&)>& watch = {});

}  // namespace taso::search
