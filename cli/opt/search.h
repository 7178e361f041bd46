// The search as taso-opt runs it: reads an edited model and writes the result back into it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/console/console.h"
#include "cli/files/rule_set.h"
#include "cli/opt/settings.h"
#include "cost/plan/objective.h"
#include "onnx/export/edit.h"
#include "ops/core/array.h"
#include "rules/language/rewrite_certificate.h"
#include "runtime/pricing/pricing.h"
#include "search/search.h"
#include "search/selection/architecture.h"

namespace taso::cli {

/// Results of the search, for the closing table and the report.
struct SearchSummary {
  cost::Objective objective = cost::Objective::time;
  std::string end;                                ///< why it ended
  std::string rules_hash;                         ///< of the rule set
  search::Architecture architecture;              ///< the recognised kind of network
  std::string all_rules;                          ///< why all rules were used; empty if some were chosen
  std::string selection, selected;                ///< which rules were chosen, and their names, for --explain
  std::string corrections;                        ///< the share of corrections in the time; empty if there are none
  std::size_t rules = 0, chosen = 0, usable = 0;  ///< given; chosen; able to match this model's operators
  rules::FloatMode float_mode = rules::FloatMode::usual;
  std::size_t not_admitted = 0;                                ///< given, but excluded by --float
  std::size_t expanded = 0, matched = 0, kept = 0, tried = 0;  ///< see SearchResult::Counts
  double before = 0, after = 0;                                ///< total cost, in units of the objective
  /// Concurrent time, if the final choice used it.
  struct InLanes {
    double before = 0, after = 0;
  };
  std::optional<InLanes> in_lanes;
  struct Applied {
    std::string rule;
    std::size_t count = 0;
    double saved = 0;  ///< in the same units; negative if later steps made up for it
  };
  /// A moment of the search: graphs expanded so far, and the best cost, in the same units.
  struct Moment {
    double seconds = 0;
    std::size_t expanded = 0;
    double best = 0;
  };
  std::vector<Moment> course;
  /// A rule that applied somewhere: how often, and what it would have saved at best as a single step.
  struct Trial {
    std::string rule;
    std::size_t matched = 0;
    double saved = 0;  ///< negative if it would have cost something
  };
  std::vector<Trial> trials;
  std::string method;  ///< backtracking, saturation or both
  /// How far from the best the result is at most, by the sum of the kernels' prices in one layout.
  struct Gap {
    double cost = 0;   ///< in the same units
    double given = 0;  ///< before the search
    double least = 0;  ///< no graph that was seen costs less
    std::size_t computations = 0, rounds = 0;
    bool is_saturated = false;             ///< these are all graphs that the rules lead to
    bool is_exact = false;                 ///< see search::Cheapest
    std::size_t solved = 0, improved = 0;  ///< regions, equal ones once
    std::size_t unsolved = 0;              ///< regions of the result for which no time was left
    std::vector<search::RegionGap> regions;
    double percent() const { return cost > 0 ? 100 * (1 - least / cost) : 0; }
  };
  std::optional<Gap> gap;               ///< missing without saturation, and if the search was interrupted
  std::vector<Applied> applied;         ///< in the order of their first use
  double min_gain = 0, max_growth = 0;  ///< percent: required saving, and allowed growth of the weights
  std::string note;                     ///< why the result was discarded; else empty
  std::vector<Applied> given_up;        ///< what the discarded result applied
  /// Rules left out because their results failed the check, and the check's message.
  std::vector<std::string> left_out;
  std::string objection;
  std::string unconfirmed;  ///< why --confirm did not measure on the GPU; else empty
  std::vector<rules::RewriteStep> steps;
  std::vector<std::pair<rules::ValueNumber, std::string>> names;  ///< the model's names of values that the steps
                                                                  ///< mention

  bool changed() const { return !applied.empty(); }
  /// Discards the result for this reason.
  void give_up(const std::string& reason);
};

/// Searches, and writes the result into the edit. If it cannot be written, the summary says so and the edit must be
/// discarded. `shapes` gives input shapes that the model leaves open.
SearchSummary search_model(onnx::GraphEdit& edit, const SearchRules& rules,
                           const std::map<std::string, Extents>& shapes, const OptSettings& options,
                           pricing::Pricing& pricing, Console& console);

}  // namespace taso::cli
