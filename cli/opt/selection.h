// Which rules taso-opt searches a model with: those that paid for networks of its kind, unless all are asked for.
#pragma once

#include <string>
#include <vector>

#include "cli/console/console.h"
#include "cli/opt/options.h"
#include "search/selection/architecture.h"
#include "search/selection/experience.h"

namespace taso::cli {

struct RuleSelection {
  search::Architecture architecture;
  search::RuleChoice choice;
};

/// Reads what was recorded of rules, as it comes with taso. Where it is missing, all rules are used; where it cannot be read,
/// too, and it is said. The last `extra` rules were added by the user, and are always used.
RuleSelection select_rules(const Graph& graph, const std::vector<rules::Rule>& rules, std::size_t extra,
                           const OptOptions& options, Console& console);

/// What was recognised and chosen, for `--explain`.
std::string explain(const RuleSelection& selection);

}  // namespace taso::cli
