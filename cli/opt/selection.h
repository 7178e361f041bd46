// Chooses the rules that taso-opt searches a model with: those that paid off for its kind of network, unless all are
// requested.
#pragma once

#include <string>
#include <vector>

#include "cli/console/console.h"
#include "cli/opt/settings.h"
#include "search/selection/architecture.h"
#include "search/selection/experience.h"

namespace taso::cli {

struct RuleSelection {
  search::Architecture architecture;
  search::RuleChoice choice;
};

/// Uses the shipped record of which rules paid off. If it is missing or unreadable (which gives a warning), all rules
/// are used. The last `extra` rules were added by the user and are always used.
RuleSelection select_rules(const Graph& graph, const std::vector<rules::Rule>& rules, std::size_t extra,
                           const OptSettings& options, Console& console);

/// The recognised kind of network and how many rules were chosen, for `--explain`; two lines.
std::string explain(const RuleSelection& selection);
/// The names of the chosen rules; empty if none were chosen.
std::string list_of(const RuleSelection& selection);

}  // namespace taso::cli
