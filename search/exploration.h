// The search of one graph as a whole: pops graphs, applies every rule at every match, keeps what costs less than alpha times
// the best. It can be stopped, and go on later.
#pragma once

#include <functional>
#include <limits>
#include <memory>
#include <unordered_set>
#include <vector>

#include "search/queue.h"
#include "search/rewriting/candidates.h"

namespace taso::search {

struct ExplorationOptions {
  double alpha = 1.05;
  std::size_t longest_queue = 1'000'000;
  cost::PlanOptions pricing;
  WeightGrowth growth;
  std::function<bool()> should_end;  ///< asked every now and then, also while rules are matched
};

/// What the search of a part of a graph has to know of the rest.
struct Surroundings {
  std::unordered_set<const Node*> frozen;  ///< priced, but not rewritten
  /// Leaves that are images, and outputs that are used outside; see Border.
  std::vector<Value> images, outputs;
};

class Exploration {
 public:
  Exploration(const Graph& graph, const std::vector<const RewriteRule*>& rules, const cost::KernelPrices& prices,
              const ExplorationOptions& options, const Surroundings& surroundings = {});

  /// Expands up to so many graphs more. `should_end` is asked before each but the first, besides that of the options: once that
  /// has ended it, there may be more to find than it knows of.
  void run(std::size_t expansions, const std::function<bool()>& should_end);

  bool is_exhausted() const { return begun_ && queue_.empty(); }
  std::size_t expanded() const { return expanded_; }
  std::size_t matched() const { return candidates_.matched(); }
  std::size_t kept() const { return kept_; }
  const GraphCost& cost_before() const { return states_[0].cost; }
  const GraphCost& cost() const { return states_[best_].cost; }

  /// Goes through the rewrites that lead to the best graph, in order: the program as it is before each, and what it makes of
  /// it. Leaves the program where it ends.
  struct Step {
    const Match& match;
    const Program::Log& log;
    const std::vector<std::vector<ValueId>>& made;  ///< by the nodes of the target
    GraphCost difference;                           ///< that it makes in this graph
  };
  void retrace(const std::function<void(const Step&)>& take);
  Program& program() { return program_; }

 private:
  static constexpr std::uint32_t no_state = std::numeric_limits<std::uint32_t>::max();

  /// A graph that has been stood at: how it came from another.
  struct State {
    std::uint32_t parent = no_state;
    std::size_t depth = 0, steps = 0;
    std::shared_ptr<const Match> match;
    Program::Log log;
    std::vector<std::vector<ValueId>> made;
    GraphCost cost;
  };
  bool is_cheap(const GraphCost& cost) const;
  std::optional<Waiting> pop();
  std::optional<std::uint32_t> make(const Waiting& waiting);
  void move_to(std::uint32_t target);
  void expand(std::uint32_t id);

  ExplorationOptions options_;
  Store store_;
  Program program_;
  Prices prices_;
  Candidates candidates_;
  std::vector<State> states_;
  Queue queue_;
  std::unordered_set<ProgramHash, HashProgramHash> seen_;
  std::unordered_set<ProgramHash, HashProgramHash>
      tried_;  // rewrites, by what they change, that were followed anywhere
  std::uint32_t here_ = 0, best_ = 0;
  GraphCost lowest_;  // of everything seen, also of what waits
  std::size_t expanded_ = 0, kept_ = 0;
  bool begun_ = false;
};

}  // namespace taso::search
