// The steps that lead from the input graph to the current program. Steps can be left out; the later ones are then
// repeated as far as that is possible without them.
#pragma once

#include <memory>
#include <set>
#include <vector>

#include "search/prices.h"
#include "search/region.h"

namespace taso::search {

class AppliedSteps {
 public:
  /// `applied` leads from the graph, which costs `before`, to the current program.
  AppliedSteps(Program& program, Prices& prices, const GraphCost& before, std::vector<Applied>& applied)
      : program_(program), prices_(prices), before_(before), applied_(applied) {}

  /// A sequence of rewrites.
  using Way = std::vector<std::shared_ptr<const Match>>;
  /// How to return to an earlier program: the number of common first steps, and the steps after them.
  struct Back {
    std::size_t common = 0;
    std::vector<Applied> undone;
  };
  Way way_without(const std::set<const Match*>& some) const;
  /// Applies as many steps as possible: a step may need one that is left out. Steps record their costs only if
  /// `is_priced`.
  Back go(const Way& way, bool is_priced);
  void go_back(Back back);
  /// From now on weights count as the file stores them, in the recorded costs too. Nothing else changes in these.
  void count_as_stored();

  const std::vector<Applied>& all() const { return applied_; }
  const GraphCost& before() const { return before_; }
  /// The cost of the current program, if the last go() was priced.
  const GraphCost& cost() const { return applied_.empty() ? before_ : applied_.back().after; }

 private:
  Program& program_;
  Prices& prices_;
  GraphCost before_;
  std::vector<Applied>& applied_;
};

}  // namespace taso::search
