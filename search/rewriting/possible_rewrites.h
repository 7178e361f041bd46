// All rewrites that are possible in the current graph, each with its effect. After a move to another graph, only the
// neighbourhood of the changes is matched again.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "search/prices.h"
#include "search/rewriting/matcher.h"

namespace taso::search {

struct PossibleRewrite {
  std::shared_ptr<const Match> match;
  GraphCost difference;  ///< the additional cost of the graph afterwards
  ProgramHash hash;      ///< the change of the graph's hash
};

/// How often a rule applied, and what it would have saved at best, as a single step.
struct RuleTrials {
  std::size_t matched = 0;
  cost::Cost saved = 0;  ///< negative if every place would have cost something
};
/// By rule.
using Trials = std::map<std::string, RuleTrials, std::less<>>;
void add(Trials& trials, const Trials& more);

class PossibleRewrites {
 public:
  /// Empty before the first call of leave_alone(). `should_end` is called now and then during matching; if it ends the
  /// matching, the remaining computations have no rewrites until the next repair().
  PossibleRewrites(Program& program, const std::vector<const RewriteRule*>& rules, Prices& prices,
                   std::function<bool()> should_end = {});

  /// By the computation of the first result, in the order of ids.
  const std::map<ComputationId, std::vector<PossibleRewrite>>& all() const { return all_; }
  /// From now on, lists only rewrites that change none of these computations; starts over.
  void leave_alone(std::unordered_set<ComputationId> outside);
  /// Records what a change touches; call it after the change is made or undone.
  void touch(const Program::Log& log);
  /// Matches again everything that was touched, and everything left over when matching was last ended.
  void repair();
  std::size_t matched() const { return matched_; }
  const Trials& trials() const { return trials_; }

 private:
  void look_at(std::vector<ComputationId> roots);
  bool look(ComputationId root);
  void affect(ValueId value, std::size_t levels, std::unordered_set<ComputationId>& roots) const;

  Program& program_;
  Prices& prices_;
  std::vector<std::vector<const RewriteRule*>> by_kind_;  // by the operator of the first result
  std::size_t depth_ = 1, depth_of_several_ = 0;
  std::map<ComputationId, std::vector<PossibleRewrite>> all_;
  std::unordered_set<ComputationId> outside_;
  std::unordered_set<ValueId> touched_;
  std::unordered_set<ComputationId> changed_;
  std::vector<ComputationId> left_;  // not matched, because should_end() ended it
  std::function<bool()> should_end_;
  std::size_t steps_ = 0;
  std::size_t matched_ = 0;
  Trials trials_;
};

}  // namespace taso::search
