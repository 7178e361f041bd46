// Finds out which rules pay off for a graph, to record them: searches with all rules, then with fewer and fewer.
#pragma once

#include <vector>

#include "search/search.h"
#include "search/selection/experience.h"

namespace taso::search {

struct Lesson {
  std::vector<RuleExperience> rules;  ///< those without which the result is worse
  cost::Cost cost_before = 0;
  cost::Cost cost_with_all = 0;    ///< with all rules
  cost::Cost cost_with_these = 0;  ///< with these rules alone; may be lower, because the budget goes further
};

/// Searches without a rule show whether it was needed or used by chance. A rule's saving is the additional cost of the
/// result without it.
Lesson learn(const Graph& graph, const std::vector<rules::Rule>& rules, const cost::KernelPrices& prices,
             const SearchOptions& options);

}  // namespace taso::search
