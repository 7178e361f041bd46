// The results of a run of the generator: as tables for people, as JSON for programs, and as a rule file for the search.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/gen/combinations.h"
#include "cli/gen/settings.h"
#include "generator/generate.h"

namespace taso::cli {

/// What one rank took.
struct RankUse {
  double processor_seconds = 0;
  std::uint64_t peak_memory = 0;
  std::uint64_t sent = 0;  ///< bytes
};

struct Findings {
  GenSettings settings;
  std::vector<std::string> operators;
  Combinations combinations;
  std::string properties_name, properties_hash;
  std::size_t properties = 0;  ///< the number of properties
  generator::GenerateReport report;
  unsigned jobs = 0;                             ///< threads, once the number of processors is known
  bool enumerated = false;                       ///< all candidates are known
  std::size_t recalled = 0;                      ///< decisions of an earlier run
  std::size_t asked = 0;                         ///< questions to the prover
  std::size_t timed_out = 0;                     ///< questions that reached the time limit
  std::optional<std::filesystem::path> written;  ///< the rule file
  bool interrupted = false;
  std::string disagreement;  ///< of two provers, which is a bug
  double seconds = 0, processor_seconds = 0;
  std::uint64_t peak_memory = 0;
  std::vector<RankUse> ranks;                ///< one, unless it ran on a cluster
  std::map<std::string, double> phases;      ///< how long each took, in seconds
  std::vector<std::string> recalled_stages;  ///< taken from an earlier run

  bool passed() const { return report.complete && disagreement.empty(); }
  /// The closing word.
  std::string_view word() const;
  /// Candidates that were not decided because the run was interrupted.
  std::size_t undecided() const;
  double graphs() const;
  std::uint64_t evaluations() const, values() const;
  std::uint64_t spilled() const;  ///< records written to temporary files
};

/// An upper bound on the probability that the enumeration mistook any value for another, for operators that are
/// polynomials: the contents are drawn once, and keys are two projections of them.
double chance_of_a_coincidence(const Findings& findings);
/// A positive number with one digit, rounded up: "2e-11".
std::string bound_text(double bound);

/// Text as comment lines that are no wider than those of a rule file.
std::vector<std::string> wrapped_comment(std::string_view text);

/// Several lines: what was enumerated, then what each step of pruning left, as in the paper's table.
std::string table_of(const Findings& findings);
/// The report, as JSON text.
std::string report_of(const Findings& findings);
/// The rules, sorted, below a comment that says what was enumerated; deterministic for the same rules, options and
/// properties.
std::string rule_file_of(const Findings& findings);
/// Where an interrupted run writes its results: not to an existing file, which may be complete.
std::filesystem::path place_of_part(const std::filesystem::path& complete);
/// The candidates that did not become rules, with the reasons.
std::string rejected_file_of(const Findings& findings);

}  // namespace taso::cli
