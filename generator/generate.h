// Finds rules: enumerates small tensor programs, pairs those that compute the same, drops what says nothing new, and has
// the rest proved.
#pragma once

#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "generator/enumerate.h"
#include "rules/rule.h"

namespace taso {

/// What a prover says of a candidate.
struct ProofOutcome {
  enum class Kind { proved, conditional, refuted, unknown } kind = Kind::unknown;
  std::vector<std::string> by;
  std::vector<Condition> condition;  ///< conditional: to be added
  std::string reason;
};

struct GenerateOptions {
  std::vector<std::string> schemas;
  std::size_t max_operators = 3;
  std::uint64_t seed = 1;
  unsigned jobs = 1;
  std::size_t memory_limit = std::size_t{4} << 30;
  /// Called from several threads at once.
  std::function<ProofOutcome(const Rule&)> prove;
  std::function<void(const struct GenerateProgress&)> watch;
  std::stop_token stop;
};

struct GenerateProgress {
  std::string phase;
  std::size_t done = 0, total = 0, proved = 0, derived = 0;
};

struct FamilyReport {
  std::string name;
  std::uint64_t evaluations = 0, values = 0, equalities = 0;
  double graphs = 0;
  std::size_t memory = 0;
};

struct Rejected {
  Rule rule;
  std::string reason;
};

struct GenerateReport {
  std::vector<FamilyReport> families;
  // How many candidates were left after each step.
  std::size_t equalities = 0, renamed = 0, confirmed = 0, without_common_subgraph = 0, distinct = 0, not_derived = 0;
  std::size_t proved = 0;   ///< equalities, each up to renaming and attributes
  std::vector<Rule> rules;  ///< in both directions where both make sense, sorted by name
  std::vector<Rejected> refuted, unknown;
  bool complete = true;
};

GenerateReport generate(const GenerateOptions& options);

}  // namespace taso
