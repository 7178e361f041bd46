// All rewrites that are possible in the graph that the search stands at, each with what it changes. After a move to
// another graph only the neighbourhood of what changed is looked at again.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <unordered_set>
#include <vector>

#include "search/prices.h"
#include "search/rewriting/matcher.h"

namespace taso::search {

struct Candidate {
  std::shared_ptr<const Match> match;
  GraphCost difference;  ///< what the graph costs more afterwards
  ProgramHash hash;      ///< what is added to the graph's hash
};

class Candidates {
 public:
  /// There are none before leave_alone() has been called. `should_end` is asked every now and then while it looks; what has not
  /// been looked at by then has no rewrites until repair() is called again.
  Candidates(Program& program, const std::vector<const RewriteRule*>& rules, Prices& prices,
             std::function<bool()> should_end = {});

  /// By the computation that gives the first result, in the order of ids.
  const std::map<ComputationId, std::vector<Candidate>>& all() const { return all_; }
  /// From now on, only what rewrites none of these computations; starts anew.
  void leave_alone(std::unordered_set<ComputationId> outside);
  /// Notes what a change touches; it must be called when the change has been made, or taken back.
  void touch(const Program::Log& log);
  /// Looks at everything again that was touched, and at what was left when it was last told to end.
  void repair();
  std::size_t matched() const { return matched_; }

 private:
  void look_at(std::vector<ComputationId> roots);
  bool look(ComputationId root);
  void affect(ValueId value, std::size_t levels, std::unordered_set<ComputationId>& roots) const;

  Program& program_;
  Prices& prices_;
  std::vector<std::vector<const RewriteRule*>> by_kind_;  // of the first result's operator
  std::size_t depth_ = 1, depth_of_several_ = 0;
  std::map<ComputationId, std::vector<Candidate>> all_;
  std::unordered_set<ComputationId> outside_;
  std::unordered_set<ValueId> touched_;
  std::unordered_set<ComputationId> changed_;
  std::vector<ComputationId> left_;  // not looked at, for it was told to end
  std::function<bool()> should_end_;
  std::size_t steps_ = 0;
  std::size_t matched_ = 0;
};

}  // namespace taso::search
