// Decides which steps of a result are kept: none that it does not need, none whose weights are unusable, and no more
// growth of the weights than is allowed.
#pragma once

#include <functional>
#include <optional>

#include "search/preference.h"
#include "search/program/applied_steps.h"
#include "search/program/extract.h"

namespace taso::search {

struct PayingStepsOptions {
  /// The run time of the current program; missing if only prices count.
  std::function<RunTime()> time_now;
  RunTime time_before, time_after;  ///< of the input graph, and of the graph after all steps
  /// Whether a weight that is computed ahead is usable.
  std::function<bool(const Value&)> is_usable;
  std::function<bool()> should_end = [] { return false; };
};

/// Undoes steps without which the result is not worse, and steps that cannot stay. From then on weights count as the
/// file stores them. `steps` has the remaining cost.
void keep_paying_steps(AppliedSteps& steps, const Program& program, Prices& prices, Extractor& extractor,
                       const PayingStepsOptions& options);

}  // namespace taso::search
