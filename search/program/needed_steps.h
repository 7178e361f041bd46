// Takes back the steps that a result does not need. A search goes detours: what it made on the way may be of no use
// where it arrived, and an enlarged kernel that nothing was merged with is only more work.
#pragma once

#include <functional>

#include "search/program/applied_steps.h"

namespace taso::search {

struct NeededStepsOptions {
  /// Whether the program as it stands, which costs no more, is as good in other ways. Asked before steps are left out
  /// for good.
  std::function<bool()> is_as_good = [] { return true; };
  std::function<bool()> should_end = [] { return false; };
  /// Rewrites to do again and operators to price again, at most: of a few ten microseconds each.
  std::size_t most_work = 50'000;
};

/// Leaves out the steps without which the graph is worth as much, until there is none: first all that save nothing by
/// themselves, at once or in halves, then some single ones of the others, those that save the least. In sum no more
/// than noise, or a thousandth, is given up.
void keep_needed_steps(AppliedSteps& steps, Prices& prices, const NeededStepsOptions& options);

}  // namespace taso::search
