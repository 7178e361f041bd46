// The steps that lead from the graph that was given to where a program stands. Some can be left out: what follows is
// then done again, as far as that is possible without them.
#pragma once

#include <memory>
#include <set>
#include <vector>

#include "search/prices.h"
#include "search/region.h"

namespace taso::search {

class AppliedSteps {
 public:
  /// `applied` leads from the graph, which costs `before`, to where the program stands.
  AppliedSteps(Program& program, Prices& prices, const GraphCost& before, std::vector<Applied>& applied)
      : program_(program), prices_(prices), before_(before), applied_(applied) {}

  /// Rewrites that are done one after the other.
  using Way = std::vector<std::shared_ptr<const Match>>;
  /// Where the program was before it went elsewhere: from which step on the way was another, and that.
  struct Back {
    std::size_t common = 0;
    std::vector<Applied> undone;
  };
  Way way_without(const std::set<const Match*>& some) const;
  /// Does as much of a way as is possible: a step may need one that is left out. Only if it is priced do steps say what
  /// they cost.
  Back go(const Way& way, bool is_priced);
  void go_back(Back back);

  const std::vector<Applied>& all() const { return applied_; }
  const GraphCost& before() const { return before_; }
  /// Where the program stands, if the last way was priced.
  const GraphCost& cost() const { return applied_.empty() ? before_ : applied_.back().after; }

 private:
  Program& program_;
  Prices& prices_;
  GraphCost before_;
  std::vector<Applied>& applied_;
};

}  // namespace taso::search
