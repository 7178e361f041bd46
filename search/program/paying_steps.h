// Which steps of a search's result are kept in the end: no step that it does not need, none whose weights cannot be
// used, and no more growth of the weights than is allowed.
#pragma once

#include <functional>
#include <optional>

#include "search/preference.h"
#include "search/program/applied_steps.h"
#include "search/program/extract.h"

namespace taso::search {

struct PayingStepsOptions {
  /// What the program as it stands takes as it runs; not given where only prices count.
  std::function<RunTime()> time_now;
  RunTime time_before, time_after;  ///< of the graph that was given, and of what all steps lead to
  /// Whether a weight that is to be computed ahead can be used.
  std::function<bool(const Value&)> is_usable;
  std::function<bool()> should_end = [] { return false; };
};

/// Takes back steps of which the result is not worse, and those that cannot stay. From then on weights count as the
/// file has them. The cost that is left is that of `steps`.
void keep_paying_steps(AppliedSteps& steps, const Program& program, Prices& prices, Extractor& extractor,
                       const PayingStepsOptions& options);

}  // namespace taso::search
