#include "cli/gen/candidate_prover.h"

#include <chrono>

#include <fmt/format.h>

#include "ops/core/error.h"
#include "rules/language/rule_text.h"

namespace taso {
namespace {

ProofOutcome::Kind kind_of(RuleVerdict::Kind kind) {
  switch (kind) {
    case RuleVerdict::Kind::proved: return ProofOutcome::Kind::proved;
    case RuleVerdict::Kind::conditional: return ProofOutcome::Kind::conditional;
    case RuleVerdict::Kind::refuted: return ProofOutcome::Kind::refuted;
    case RuleVerdict::Kind::unknown: return ProofOutcome::Kind::unknown;
  }
  return ProofOutcome::Kind::unknown;
}

}  // namespace

ProofOutcome CandidateProver::prove(const Rule& candidate) {
  ++asked_;
  const auto start = std::chrono::steady_clock::now();
  RuleVerdict verdict;
  try {
    verdict = verify(candidate, properties_, options_, stop_.get_token());
  } catch (const InputError& error) {
    return {ProofOutcome::Kind::unknown, {}, {}, error.what()};
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  const bool is_late = options_.time_limit > 0 && took.count() >= options_.time_limit;
  const bool is_certain = verdict.kind == RuleVerdict::Kind::proved || verdict.kind == RuleVerdict::Kind::conditional;
  if (is_late && !is_certain) ++timed_out_;
  if (!verdict.disagreement.empty()) {
    const std::lock_guard lock(mutex_);
    Rule named = candidate;
    named.name = "disputed";
    if (disagreement_.empty()) disagreement_ = print(named) + verdict.disagreement;
    stop_.request_stop();
  }
  return {kind_of(verdict.kind), verdict.properties, verdict.condition, verdict.reason};
}

std::string CandidateProver::disagreement() const {
  const std::lock_guard lock(mutex_);
  return disagreement_;
}

}  // namespace taso
