// The last choice of a search, by predicted run time. The search adds up kernel prices; if independent kernels run
// concurrently, the graph with the least sum need not be the fastest, and may be slower than the input graph.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <unordered_map>
#include <vector>

#include "search/preference.h"
#include "search/program/applied_steps.h"
#include "search/program/extract.h"
#include "search/region.h"
#include "search/rewriting/possible_rewrites.h"

namespace taso::search {

struct RunChoiceOptions {
  RunTime time_before;                           ///< of the input graph
  std::function<RunTime(const Graph&)> time_of;  ///< called from several threads
  std::size_t most_graphs = 100;                 ///< the most graphs to time, besides the first and the current one
  unsigned jobs = 1;                             ///< graphs timed concurrently; the result does not depend on it
  std::function<bool()> should_end;
};

class RunChoice {
 public:
  /// `applied` leads from the graph, which costs `before`, to the current program.
  RunChoice(const Graph& graph, Program& program, Prices& prices, PossibleRewrites& candidates, const GraphCost& before,
            std::vector<Applied>& applied, OpaqueNodes& opaque, const RunChoiceOptions& options);

  /// Leaves out steps that do not pay when the graph runs, and takes more that do. The resulting program takes no
  /// longer than the input graph, neither concurrently nor sequentially nor in sum; if it has more operators, it is
  /// noticeably faster.
  void run();

  GraphCost cost() const { return steps_.cost(); }
  RunTime time() const { return without_charge(time_); }
  std::size_t tried() const { return tried_; }

 private:
  using Way = AppliedSteps::Way;
  /// A possible change to the sequence of steps.
  struct Move {
    std::set<const Match*> without;
    std::shared_ptr<const Match> with;  // null if nothing is added
    RunTime time;                       // the run time it leads to, including the price of larger weights
  };
  Way way_with(const Move& move) const;
  /// Larger weights count as time, concurrent and sequential.
  static RunTime with_charge(const RunTime& time, const GraphCost& cost);
  RunTime without_charge(const RunTime& time) const;
  void judge(std::vector<Move>& moves);
  bool take_best_of(std::vector<Move> moves, cost::Cost least_gain);
  void take(const Move& move);
  void take_nothing();
  std::vector<Move> moves_that_leave_out(std::size_t most) const;
  std::vector<Move> moves_that_add(std::size_t most);
  RunPreference preference() const { return {options_.time_before, noise()}; }
  std::size_t left() const { return options_.most_graphs - std::min(tried_, options_.most_graphs); }
  cost::Cost noise() const { return prices_.noise(); }

  Program& program_;
  Prices& prices_;
  PossibleRewrites& candidates_;
  GraphCost before_;
  std::vector<Applied>& applied_;
  AppliedSteps steps_;
  const RunChoiceOptions& options_;
  Extractor extractor_;
  std::unordered_map<ProgramHash, RunTime, HashProgramHash> known_;
  RunTime time_;
  std::size_t tried_ = 0;
};

}  // namespace taso::search
