// Finds out which rules pay for a graph, so that it can be recorded: a search with all of them, then with fewer and fewer.
#pragma once

#include <vector>

#include "search/search.h"
#include "search/selection/experience.h"

namespace taso::search {

struct Lesson {
  std::vector<RuleExperience> rules;  ///< those without which the result is worse
  cost::Cost cost_before = 0;
  cost::Cost cost_with_all = 0;    ///< with all rules
  cost::Cost cost_with_these = 0;  ///< with these rules alone; may be lower, as the budget goes further
};

/// Rules that were on the way only by chance are told from those that were needed by searching without them. What a rule
/// saved is what the result costs more without it.
Lesson learn(const Graph& graph, const std::vector<rules::Rule>& rules, const cost::KernelPrices& prices,
             const SearchOptions& options);

}  // namespace taso::search
