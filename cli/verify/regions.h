// taso-verify --agreement: where the two sides of each rule agree, whether or not the rule is true.
#pragma once

#include <string>
#include <vector>

#include "cli/console/exit_code.h"
#include "cli/files/rule_input.h"
#include "cli/verify/settings.h"
#include "verifier/agreement/agreement.h"

namespace taso::cli {

/// What was found about one rule.
struct RegionResult {
  struct AtRanks {
    rules::Instance instance;
    verifier::Agreement agreement;
  };
  bool decided = false;
  std::string skipped;  ///< why the rule is left out; empty otherwise
  std::vector<AtRanks> instances;
  double seconds = 0;
};

struct RegionResults {
  std::vector<GivenFile> files;
  std::vector<GivenRule> rules;
  std::vector<RegionResult> results;  ///< of the rules
  std::uint64_t seed = 0;
  bool interrupted = false;
  double seconds = 0;

  /// Whether the two ways to find a region contradict each other somewhere, which is a bug.
  bool disagree() const;
  std::string_view word() const;  ///< the closing word
};

/// For people; `everything` also shows inputs at which the sides differ, and all ranks.
std::string text_of(const RegionResults& results, bool everything);
/// As JSON.
std::string report_of(const RegionResults& results);

/// Finds and prints the regions of all rules in the files. Throws PlacedError for a rule without meaning.
ExitCode show_regions(const VerifySettings& settings, Console& console);

}  // namespace taso::cli
