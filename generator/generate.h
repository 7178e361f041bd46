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
#include "generator/stages.h"
#include "ops/cluster/communicator.h"
#include "rules/language/rule.h"

namespace taso::generator {

/// Incremented with every change that may alter a decision about a candidate. An interrupted run is only resumed by the
/// same revision.
constexpr unsigned generator_revision = 5;

/// Laws that depend on the order of numbers (relu, maxima) are searched with at most this many operators, however many
/// are asked for: such laws already show in small terms.
constexpr std::size_t most_operators_in_order = 3;

/// A prover's answer about a candidate.
struct ProofOutcome {
  enum class Kind { proved, conditional, refuted, unknown } kind = Kind::unknown;
  std::vector<std::string> by;
  std::vector<rules::Condition> condition;  ///< conditional: the conditions to add
  std::string reason;
};

/// The decision about a candidate.
struct Decision {
  bool derived = false;             ///< follows from smaller rules
  std::vector<rules::Rule> proved;  ///< the directions that are true, with conditions and `by`
  ProofOutcome last;                ///< if nothing is proved: the prover's last answer about the rule at all ranks
};

struct GenerateOptions {
  std::vector<std::string> schemas;
  std::size_t max_operators = 3;
  std::uint64_t seed = 1;
  unsigned jobs = 1;
  /// Null: one. All ranks are called with the same options, except that only the first has callbacks other than
  /// `prove`, and the report of the others has no rules.
  Communicator* ranks = nullptr;
  std::size_t memory_limit = std::size_t{4} << 30;
  /// If true, state proved laws as generally as they are true and keep only those that are useful to people and
  /// searches. If false, keep everything that is proved, as it was found.
  bool selects = false;
  std::vector<rules::Rule> stated;  ///< rules that exist already; what they say is not written again
  /// Called concurrently.
  std::function<ProofOutcome(const rules::Rule&)> prove;
  std::function<void(const struct GenerateProgress&)> watch;
  /// Let a run be resumed. `begin` gets a hash of all candidates in their order, once. `remember` gets each decision as
  /// it is made; `recall` returns a decision of an earlier run with the same candidates, which is then not made again.
  /// A candidate is its canonical text. All but `begin` are called concurrently.
  std::function<void(const std::string& candidates)> begin;
  std::function<std::optional<Decision>(const std::string& candidate)> recall;
  std::function<void(const std::string& candidate, const Decision&)> remember;
  StageFunctions stages;  ///< keep what was enumerated
  std::stop_token stop;
};

struct GenerateProgress {
  std::string phase;
  std::size_t done = 0, total = 0, proved = 0, derived = 0;
  std::size_t refuted = 0, unknown = 0;
  std::uint64_t values = 0;    ///< in families enumerated so far, including the current one
  double graphs = 0;           ///< in families enumerated so far
  std::size_t candidates = 0;  ///< left so far
};

struct FamilyReport {
  std::string name;
  std::uint64_t evaluations = 0, values = 0, equalities = 0;
  double graphs = 0;
  std::size_t memory = 0;
  std::uint64_t spilled = 0;  ///< records written to temporary files
  bool is_in_order = false;   ///< enumerated on small integers, for operators that need an order
};

struct Rejected {
  rules::Rule rule;
  std::string reason;
};

struct GenerateReport {
  std::vector<FamilyReport> families;
  // The number of candidates left after each step.
  std::size_t equalities = 0, renamed = 0, confirmed = 0, not_following = 0, without_common_subgraph = 0, distinct = 0,
              not_derived = 0;
  std::size_t general = 0;         ///< distinct ones that are not coincidences; if rules are selected
  std::size_t special = 0;         ///< proved, but special cases of laws proved later
  std::size_t proved = 0;          ///< equalities, up to renaming and attributes
  std::optional<Worth> worth;      ///< the number of rules left after each step of the selection; its laws are empty
  std::vector<rules::Rule> rules;  ///< in both directions where both make sense, sorted by name
  std::vector<Rejected> refuted, unknown;
  bool complete = true;
};

/// The result is the same at any number of jobs and ranks. Throws EnvironmentError, also if the ranks find different
/// candidates.
GenerateReport generate(const GenerateOptions& options);

}  // namespace taso::generator
