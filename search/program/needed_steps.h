// Undoes the steps that a result does not need. A search makes detours: intermediate results may be useless in the end,
// and an enlarged kernel that was never merged is only more work.
#pragma once

#include <functional>

#include "search/program/applied_steps.h"

namespace taso::search {

struct NeededStepsOptions {
  /// Whether the current program, which costs no more, is as good in other respects. Called before steps are left out
  /// for good.
  std::function<bool()> is_as_good = [] { return true; };
  std::function<bool()> should_end = [] { return false; };
  /// The most rewrites to repeat and operators to price again, at a few tens of microseconds each.
  std::size_t most_work = 50'000;
};

/// Leaves out steps without which the graph is as good, until there are none: first all that save nothing by
/// themselves, at once or in halves, then some single ones of the others, those that save the least. In total it gives
/// up no more than noise, or a thousandth.
void keep_needed_steps(AppliedSteps& steps, Prices& prices, const NeededStepsOptions& options);

}  // namespace taso::search
