// What a run of the generator found, told to people as tables, to programs as JSON, and to the search as a rule file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/gen/settings.h"
#include "generator/generate.h"

namespace taso {

struct Findings {
  GenSettings settings;
  std::vector<std::string> operators;
  std::string properties_name, properties_hash;
  std::size_t properties = 0;  ///< how many there are
  GenerateReport report;
  std::size_t recalled = 0;   ///< decisions of an earlier run
  std::size_t asked = 0;      ///< questions to the prover
  std::size_t timed_out = 0;  ///< of them, cut short by the clock
  bool written = false;       ///< the rule file
  bool interrupted = false;
  std::string disagreement;  ///< of two provers: our bug
  double seconds = 0, processor_seconds = 0;
  std::uint64_t peak_memory = 0;

  bool passed() const { return report.complete && disagreement.empty(); }
  /// The closing word.
  std::string_view word() const;
  double graphs() const;
  std::uint64_t evaluations() const, values() const;
};

/// An upper bound of the chance that, somewhere in the enumeration, one value was taken for another, if operators are
/// polynomials: the contents are drawn once, and keys are two projections of them.
double chance_of_a_coincidence(const Findings& findings);

/// Several lines: what was enumerated, then what each step of pruning left, as the paper's table has it.
std::string table_of(const Findings& findings);
/// The report, as JSON text.
std::string report_of(const Findings& findings);
/// The rules, sorted, below a comment that says what was enumerated; the same for the same rules, options and properties.
std::string rule_file_of(const Findings& findings);
/// The candidates that did not become rules, with the reasons.
std::string rejected_file_of(const Findings& findings);

}  // namespace taso
