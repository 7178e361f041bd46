// What the rewrites and clean-ups changed, region by region, and which regions are alike.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/details/model_details.h"
#include "cost/plan/objective.h"
#include "rules/language/rewrite_certificate.h"
#include "rules/language/rule.h"

namespace taso::cli {

/// What became of a node of the original model, or where a node of the result comes from.
enum class NodeFate {
  same,      ///< in both models
  rewired,   ///< in both, with other operands or another place in the graph
  replaced,  ///< only in the original
  cleaned,   ///< only in the original, removed by a clean-up
  made,      ///< only in the result
};
std::string_view name_of(NodeFate fate);

/// Connected changes.
struct ChangedRegion {
  std::vector<std::size_t> before, after;  ///< nodes
  std::vector<std::size_t> steps;          ///< rewrites
  std::vector<std::string> clean_ups;      ///< passes, each once
  double saved = 0;                        ///< by the steps, in units of the objective
  std::size_t like = 0;                    ///< the first region that is the same but for names
};

/// The rewrites and clean-ups of a run.
struct AppliedChanges {
  std::vector<rules::RewriteStep> steps;
  std::vector<std::pair<rules::ValueNumber, std::string>> names;  ///< of values that the steps mention
  std::vector<rules::CleanupStep> clean_ups;
  cost::Objective objective = cost::Objective::time;
};

/// A rule that was applied, as people read it.
struct RuleDetails {
  std::string name, text;      ///< as in the rule file
  std::string source, target;  ///< as mathematics
  std::vector<std::string> conditions, by, comments;
};

struct Details {
  ModelDetails before, after;
  std::vector<NodeFate> fates_before, fates_after;  ///< by node
  std::vector<ChangedRegion> regions;               ///< those with rewrites first, the most saving kinds first
  AppliedChanges applied;
  std::vector<RuleDetails> rules;
};

Details compare_details(ModelDetails before, ModelDetails after, AppliedChanges applied,
                        const std::vector<rules::Rule>& rules);

}  // namespace taso::cli
