// The search of one graph as a whole: pops graphs, applies every rule at every match, and keeps graphs that cost less
// than alpha times the best. It can be stopped and continued.
#pragma once

#include <functional>
#include <limits>
#include <memory>
#include <unordered_set>
#include <vector>

#include "search/queue.h"
#include "search/rewriting/possible_rewrites.h"

namespace taso::search {

struct ExplorationOptions {
  double alpha = 1.05;
  std::size_t longest_queue = 1'000'000;
  cost::PlanOptions pricing;
  WeightGrowth growth;
  std::function<bool()> should_end;  ///< called now and then, also while rules are matched
};

/// What the search of a part of a graph needs to know about the rest.
struct Surroundings {
  std::unordered_set<const Node*> frozen;  ///< priced, but not rewritten
  /// Leaves that are images, and outputs that are used outside; see Border.
  std::vector<Value> images, outputs;
};

/// The same in terms of a program of the part.
Border border_of(const Program& program, const Surroundings& surroundings);
std::unordered_set<ComputationId> frozen_in(const Program& program, const Surroundings& surroundings);

/// A graph for which a cheaper one was found, or none.
class SolvedRegion {
 public:
  virtual ~SolvedRegion() = default;

  virtual const GraphCost& cost_before() const = 0;
  virtual const GraphCost& cost() const = 0;
  /// Visits the rewrites that lead to the best graph in order, with the program before each and its changes. Leaves the
  /// program at the best graph.
  struct Step {
    const Match& match;
    const Program::Log& log;
    const std::vector<std::vector<ValueId>>& made;  ///< by node of the target
    GraphCost difference;                           ///< the change of cost in this graph
  };
  virtual void retrace(const std::function<void(const Step&)>& take) = 0;
  virtual const Program& program() const = 0;
};

class Exploration : public SolvedRegion {
 public:
  Exploration(const Graph& graph, const std::vector<const RewriteRule*>& rules, const cost::KernelPrices& prices,
              const ExplorationOptions& options, const Surroundings& surroundings = {});

  /// Expands up to `expansions` more graphs. `should_end` is called before each but the first. If the options' own
  /// should_end() stopped the matching, more matches may exist than are known.
  void run(std::size_t expansions, const std::function<bool()>& should_end);

  bool is_exhausted() const { return begun_ && queue_.empty(); }
  std::size_t expanded() const { return expanded_; }
  std::size_t matched() const { return candidates_.matched(); }
  const Trials& trials() const { return candidates_.trials(); }
  std::size_t kept() const { return kept_; }
  const GraphCost& cost_before() const override { return states_[0].cost; }
  const GraphCost& cost() const override { return states_[best_].cost; }

  void retrace(const std::function<void(const Step&)>& take) override;
  const Program& program() const override { return program_; }

 private:
  static constexpr std::uint32_t no_state = std::numeric_limits<std::uint32_t>::max();

  /// A graph that was made: its parent and the rewrite that produced it.
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
  PossibleRewrites candidates_;
  std::vector<State> states_;
  Queue queue_;
  std::unordered_set<ProgramHash, HashProgramHash> seen_;
  std::unordered_set<ProgramHash, HashProgramHash>
      tried_;  // rewrites that were followed in any graph, by their change of hash
  std::uint32_t here_ = 0, best_ = 0;
  GraphCost lowest_;  // of all graphs seen, including queued ones
  std::size_t expanded_ = 0, kept_ = 0;
  bool begun_ = false;
};

}  // namespace taso::search
