// The search, as taso-opt runs it: on an edited model, and back into it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/console.h"
#include "cli/opt_options.h"
#include "ops/onnx/edit.h"
#include "rules/rule.h"

namespace taso {

/// What the search did, for the closing table and the report.
struct SearchSummary {
  std::string end;                                  ///< why it ended
  std::size_t rules = 0, usable = 0;                ///< that were given; that can match this model's operators
  std::size_t expanded = 0, matched = 0, kept = 0;  ///< see SearchResult::Counts
  double before = 0, after = 0;                     ///< predicted seconds
  struct Applied {
    std::string rule;
    std::size_t count = 0;
    double saved = 0;  ///< seconds
  };
  std::vector<Applied> applied;  ///< in the order of their first use
  std::string note;              ///< why nothing came of what was found; else empty

  bool changed() const { return !applied.empty(); }
  /// Forgets what was found, for this reason.
  void give_up(const std::string& reason);
};

/// Searches, and writes what was found into the edit. Where it cannot be written, the summary says so, and the edit is to be
/// thrown away.
SearchSummary search_model(GraphEdit& edit, const std::vector<Rule>& rules, const OptOptions& options,
                           Console& console);

}  // namespace taso
