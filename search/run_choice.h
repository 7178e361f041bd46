// The last choice of a search, by what graphs take as they run. A search adds kernels up; where kernels that do not need one
// another run side by side, the graph with the least sum need not be the one that takes least, and may take longer than what
// was given.
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
#include "search/rewriting/candidates.h"

namespace taso::search {

struct RunChoiceOptions {
  std::function<RunTime(const Graph&)> time_of;  ///< asked from several threads at once
  std::size_t most_graphs = 100;  ///< to ask for; two more in any case, of where it began and where it stands
  unsigned jobs = 1;              ///< graphs that are asked for side by side; the result is the same
  std::function<bool()> should_end;
};

class RunChoice {
 public:
  /// `applied` leads from the graph, which costs `before`, to where the program stands.
  RunChoice(const Graph& graph, Program& program, Prices& prices, Candidates& candidates, const GraphCost& before,
            std::vector<Applied>& applied, OpaqueNodes& opaque, const RunChoiceOptions& options);

  /// Leaves steps out that do not pay as the graph runs, and takes more that do. What the program stands at afterwards takes
  /// no longer than the graph that was given, neither in lanes nor in a row nor in sum; and if it has more operators,
  /// noticeably less.
  void run();

  GraphCost cost() const { return steps_.cost(); }
  RunTime time_before() const { return time_before_; }
  RunTime time() const { return without_charge(time_); }
  std::size_t tried() const { return tried_; }

 private:
  using Way = AppliedSteps::Way;
  /// What may be changed of a way.
  struct Move {
    std::set<const Match*> without;
    std::shared_ptr<const Match> with;  // none, if nothing is added
    RunTime time;                       // where it leads from here, with what larger weights cost
  };
  Way way_with(const Move& move) const;
  /// Larger weights count as time, whichever way it runs.
  static RunTime with_charge(const RunTime& time, const GraphCost& cost);
  RunTime without_charge(const RunTime& time) const;
  void judge(std::vector<Move>& moves);
  bool take_best_of(std::vector<Move> moves, cost::Cost least_gain);
  void take(const Move& move);
  void take_nothing();
  std::vector<Move> moves_that_leave_out(std::size_t most) const;
  std::vector<Move> moves_that_add(std::size_t most);
  RunPreference preference() const { return {time_before_, noise()}; }
  std::size_t left() const { return options_.most_graphs - std::min(tried_, options_.most_graphs); }
  cost::Cost noise() const { return prices_.noise(); }

  Program& program_;
  Prices& prices_;
  Candidates& candidates_;
  GraphCost before_;
  std::vector<Applied>& applied_;
  AppliedSteps steps_;
  const RunChoiceOptions& options_;
  Extractor extractor_;
  std::unordered_map<ProgramHash, RunTime, HashProgramHash> known_;
  RunTime time_before_, time_;
  std::size_t tried_ = 0;
};

}  // namespace taso::search
