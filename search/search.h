// The search: steps that make the whole graph better, then parts of it by themselves; see README.md.
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

struct SearchOptions {
  double alpha = 1.05;
  std::size_t budget = 1000;  ///< graphs to expand
  std::optional<std::chrono::duration<double>> time_budget;
  std::size_t longest_queue = 1'000'000;  ///< graphs that wait; beyond twice as many the dearest are forgotten
  /// A graph of more operators than `piece` times three is searched in parts: pieces of about so many operators, each with the
  /// one after it, cut where few values cross. Parts that are alike are searched once. 0 for never.
  std::size_t piece = 24;
  /// A graph of more is searched in parts only, each once: steps in the whole, and the last choice by what it takes as
  /// it runs, would take time that grows with the square of its size.
  std::int64_t most_operators = 4000;
  unsigned jobs = 1;                   ///< parts that are searched side by side; the result is the same
  cost::DimensionSizes sizes;          ///< what unknown dimensions are priced as; 1, if nothing is given
  std::optional<cost::Layout> layout;  ///< if it is not given, the one in which the graph costs less
  /// More rules, for steps that make the whole graph better at once. What it takes several steps to is not searched for with
  /// them.
  std::vector<rules::Rule> direct_rules;
  /// What larger weights cost: so much for each byte more, and at most this share of what there is more, or these
  /// bytes.
  cost::Cost price_of_weight_byte = 0;
  std::optional<double> most_growth;
  std::int64_t least_growth = 0;
  /// Whether a weight that is to be computed ahead can be used: not, if it overflows. Steps that make one which cannot
  /// be used are left out.
  std::function<bool(const Value&)> is_usable;
  bool keeps_way = false;  ///< whether the result has the graphs on the way to it
  /// Which values of the graph replacements may speak of; all, if it is not given.
  std::function<bool(const Value&)> is_named;
  /// The run time of a graph in a layout, where that is not the sum of its kernels because kernels run concurrently. The
  /// last choice uses it (run_choice.h), except for graphs of more than `most_operators`. Called from several threads.
  std::function<RunTime(const Graph&, cost::Layout)> time_of_run;
};

/// How the values of the graph that was given are computed now, in terms of such values: what export needs in order to
/// touch nothing else.
struct Replacements {
  std::vector<std::pair<Value, Value>> rewritten;  ///< a value, and what computes it now over others of these values
  std::vector<std::pair<Value, Value>> merged;     ///< a value, and another that it turned out to be
  /// False if they cannot be told in this way: a new value looks like an old one that is computed differently now.
  bool complete = true;
};

struct SearchResult {
  enum class End { budget, time, exhausted, stopped, size } end = End::exhausted;
  Graph graph;  ///< in the same pool
  cost::Cost cost_before = 0, cost_after = 0;
  RunTime run_before, run_after;                       ///< what it takes as it runs, if that was asked for
  cost::Layout layout = cost::Layout::channels_first;  ///< in which it was priced
  std::vector<rules::RewriteStep> steps;               ///< on the way to the result
  std::vector<Graph> way;                              ///< the graph after each of them, if asked for
  Replacements replacements;
  struct Counts {
    std::size_t rules = 0;     ///< that could match the graph's operators, without direct ones
    std::size_t expanded = 0;  ///< graphs whose rewrites were looked at
    std::size_t matched = 0;   ///< places where a rule was found to apply
    std::size_t kept = 0;      ///< graphs that were new and cheap enough
    std::size_t tried = 0;     ///< graphs in the last choice, by what they take as they run
    std::size_t regions = 0;   ///< parts that were searched by themselves, those that are alike once
  } counts;
};

std::string_view text_of(SearchResult::End end);

/// Says of what was found in a graph what it costs with other prices than those that it was found with. The graphs on the way
/// are needed, and the options, without their layout, as they were.
void price_anew(SearchResult& found, const Graph& graph, const cost::KernelPrices& prices,
                const SearchOptions& options);

struct SearchProgress {
  std::size_t expanded = 0;
  cost::Cost before = 0;
  cost::Cost best =
      0;  ///< with what has been found in parts and is not yet done in the whole, where it may turn out to be less
};

/// The best graph found; the one given, if nothing is cheaper, or costs the same with fewer operators. The same for the same graph, rules, costs and budget.
SearchResult search(const Graph& graph, const std::vector<rules::Rule>& rules, const cost::KernelPrices& prices,
                    const SearchOptions& options = {}, const std::stop_token& stop = {},
                    const std::function<void(const SearchProgress&)>& watch = {});

}  // namespace taso::search
