// Finds rules: enumerates small tensor programs, pairs those that compute the same, drops what says nothing new, and
// has the rest proved.
#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "generator/enumeration/enumerate.h"
#include "generator/selection/worth.h"
#include "rules/language/rule.h"

namespace taso::generator {

/// Raised with every change that may change what is decided about a candidate: runs that were cut short are taken up
/// again with the same number only.
constexpr unsigned generator_revision = 5;

/// What relu and maxima do beyond polynomials shows in small terms: laws that rest on an order are looked for with so
/// many operators, whatever is asked for.
constexpr std::size_t most_operators_in_order = 3;

/// What a prover says of a candidate.
struct ProofOutcome {
  enum class Kind { proved, conditional, refuted, unknown } kind = Kind::unknown;
  std::vector<std::string> by;
  std::vector<rules::Condition> condition;  ///< conditional: to be added
  std::string reason;
};

/// What came of a candidate.
struct Decision {
  bool derived = false;             ///< it follows from smaller rules
  std::vector<rules::Rule> proved;  ///< in the directions in which it is true, with conditions and `by`
  ProofOutcome last;                ///< if nothing is proved: what the prover said last of the rule at all ranks
};

struct GenerateOptions {
  std::vector<std::string> schemas;
  std::size_t max_operators = 3;
  std::uint64_t seed = 1;
  unsigned jobs = 1;
  std::size_t memory_limit = std::size_t{4} << 30;
  /// For people and searches: what is proved is stated as generally as it is true, and only what is worth it is
  /// written. Else all that is proved, as it was found.
  bool selects = false;
  std::vector<rules::Rule> stated;  ///< rules that are there anyway: what they say is not worth it
  /// Called from several threads at once.
  std::function<ProofOutcome(const rules::Rule&)> prove;
  std::function<void(const struct GenerateProgress&)> watch;
  /// So that a run can be taken up again: `begin` is told a hash of all candidates in their order, once; decisions are
  /// handed out as they are made, and those of an earlier run with the same candidates are taken instead of deciding
  /// again. A candidate is its canonical text. Called from several threads at once, but for `begin`.
  std::function<void(const std::string& candidates)> begin;
  std::function<std::optional<Decision>(const std::string& candidate)> recall;
  std::function<void(const std::string& candidate, const Decision&)> remember;
  std::stop_token stop;
};

struct GenerateProgress {
  std::string phase;
  std::size_t done = 0, total = 0, proved = 0, derived = 0;
  std::size_t refuted = 0, unknown = 0;
  std::uint64_t values = 0;    ///< of families that are enumerated, and of the one that is being
  double graphs = 0;           ///< of families that are enumerated
  std::size_t candidates = 0;  ///< that are left so far
};

struct FamilyReport {
  std::string name;
  std::uint64_t evaluations = 0, values = 0, equalities = 0;
  double graphs = 0;
  std::size_t memory = 0;
  std::uint64_t spilled = 0;  ///< records that went to temporary files
  bool is_in_order = false;   ///< on small integers, for operators that need an order
};

struct Rejected {
  rules::Rule rule;
  std::string reason;
};

struct GenerateReport {
  std::vector<FamilyReport> families;
  // How many candidates were left after each step.
  std::size_t equalities = 0, renamed = 0, confirmed = 0, not_following = 0, without_common_subgraph = 0, distinct = 0,
              not_derived = 0;
  std::size_t general = 0;         ///< of the distinct ones, those that are no coincidences; if rules are selected
  std::size_t special = 0;         ///< proved, but only special cases of what is proved after them
  std::size_t proved = 0;          ///< equalities, each up to renaming and attributes
  std::optional<Worth> worth;      ///< how many rules each step of the selection left, without the laws
  std::vector<rules::Rule> rules;  ///< in both directions where both make sense, sorted by name
  std::vector<Rejected> refuted, unknown;
  bool complete = true;
};

GenerateReport generate(const GenerateOptions& options);

}  // namespace taso::generator
