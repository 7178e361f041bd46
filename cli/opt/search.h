// The search, as taso-opt runs it: on an edited model, and back into it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/console/console.h"
#include "cli/files/rule_set.h"
#include "cli/opt/options.h"
#include "cost/plan/objective.h"
#include "onnx/export/edit.h"
#include "ops/core/array.h"
#include "rules/language/rewrite_certificate.h"
#include "runtime/pricing/pricing.h"
#include "search/selection/architecture.h"

namespace taso::cli {

/// What the search did, for the closing table and the report.
struct SearchSummary {
  cost::Objective objective = cost::Objective::time;
  std::string end;                                ///< why it ended
  std::string rules_hash;                         ///< of the rule set
  search::Architecture architecture;              ///< what kind of network it was taken for
  std::string all_rules;                          ///< why no rules were chosen among those given; else empty
  std::size_t rules = 0, chosen = 0, usable = 0;  ///< given; chosen; that can match this model's operators
  rules::FloatMode float_mode = rules::FloatMode::usual;
  std::size_t not_admitted = 0;  ///< given, and left out for what they do to floating-point numbers
  std::size_t expanded = 0, matched = 0, kept = 0, tried = 0;  ///< see SearchResult::Counts
  double before = 0, after = 0;                                ///< what the search added up, in units of the objective
  /// With kernels side by side, if that is what was chosen by.
  struct InLanes {
    double before = 0, after = 0;
  };
  std::optional<InLanes> in_lanes;
  struct Applied {
    std::string rule;
    std::size_t count = 0;
    double saved = 0;  ///< in the same units; less than nothing for a step that others made up for
  };
  std::vector<Applied> applied;         ///< in the order of their first use
  double min_gain = 0, max_growth = 0;  ///< percent: what had to be saved, and what weights may have grown by
  std::string note;                     ///< why nothing came of what was found; else empty
  /// Rules that were left out in the end, for the check objected to what they made; and what it said.
  std::vector<std::string> left_out;
  std::string objection;
  std::string unconfirmed;  ///< why the GPU was not asked whether it is faster, though it was to be; else empty
  std::vector<rules::RewriteStep> steps;
  std::vector<std::pair<rules::ValueNumber, std::string>> names;  ///< of values of which the steps speak, in the model

  bool changed() const { return !applied.empty(); }
  /// Forgets what was found, for this reason.
  void give_up(const std::string& reason);
};

/// Searches, and writes what was found into the edit. Where it cannot be written, the summary says so, and the edit is to be
/// thrown away. `shapes` are those of inputs, for what the model leaves open.
SearchSummary search_model(onnx::GraphEdit& edit, const SearchRules& rules,
                           const std::map<std::string, Extents>& shapes, const OptOptions& options,
                           pricing::Pricing& pricing, Console& console);

}  // namespace taso::cli
