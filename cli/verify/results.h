// The outcome of every rule and property: counted once, then printed as tables for people and as JSON and JUnit for
// programs.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/files/rule_input.h"
#include "cli/verify/second_prover.h"
#include "verifier/membership.h"
#include "verifier/verify.h"

namespace taso::cli {

struct RuleResult {
  enum class Outcome {
    undecided,  ///< interrupted before there was a verdict
    proved,
    valid,  ///< an axiom that passed all checks but is not proved for all shapes
    conditional,
    refuted,
    unknown,
    unstated,  ///< a rule from one of TASO's files that cannot be stated
  };

  bool decided = false;
  bool from_cache = false;
  bool unstated = false;                              ///< verdict.reason says why
  verifier::RuleVerdict verdict;                      ///< of a candidate or a rule
  std::optional<verifier::PropertyVerdict> property;  ///< of an axiom
  std::vector<std::string> unknown_names;             ///< names after `by` that are not properties
  std::optional<SecondOpinion> second;                ///< of the second prover, if it was asked
  double seconds = 0;

  Outcome outcome() const;
  bool passed() const;
  /// How two provers contradict each other; empty if they agree.
  std::string disagreement() const;
  const std::string& counterexample() const { return property ? property->counterexample : verdict.counterexample; }
};
/// One or a few words, for tables and reports.
std::string_view text_of(RuleResult::Outcome outcome);

struct VerifyResults {
  std::vector<GivenFile> files;
  std::vector<GivenRule> rules;     ///< of the files
  std::vector<std::string> hashes;  ///< of the rules
  std::vector<RuleResult> results;  ///< of the rules
  std::string properties_name, properties_hash;
  std::size_t properties = 0;                     ///< the number of properties; a law for a class is one
  std::vector<verifier::Membership> memberships;  ///< the last of `rules`: that operators belong to the classes of laws
  bool properties_are_shipped = true;
  bool validates_properties = false;  ///< the rules are the properties themselves
  bool asked_for_redundant = false;
  std::string second_prover;  ///< its version
  bool interrupted = false;
  std::uint64_t seed = 0;
  double seconds = 0;

  std::size_t count(RuleResult::Outcome outcome) const;
  bool passed() const;
  bool disagrees() const;
  /// The closing word.
  std::string_view word() const;
};

/// One line for each rule, then counterexamples and totals; with `everything`, nothing is cut short.
std::string table_of(const VerifyResults& results, bool everything);
/// The table for properties.
std::string property_table_of(const VerifyResults& results, bool everything);
/// "12 rules: 10 proved, 2 refuted"
std::string totals_of(const VerifyResults& results);
/// The contradicting answers of the provers, for a bug report.
std::string disagreements_of(const VerifyResults& results);

std::string report_of(const VerifyResults& results);
std::string junit_of(const VerifyResults& results);
/// Escapes text for XML, attributes included; drops characters that XML cannot hold.
std::string xml_text(std::string_view text);

}  // namespace taso::cli
