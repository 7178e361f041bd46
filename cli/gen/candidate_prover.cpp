#include "cli/gen/candidate_prover.h"

#include <chrono>

#include <fmt/format.h>

#include "ops/core/error.h"
#include "rules/language/rule_text.h"

namespace taso::cli {
namespace {

generator::ProofOutcome::Kind kind_of(verifier::RuleVerdict::Kind kind) {
  switch (kind) {
    case verifier::RuleVerdict::Kind::proved: return generator::ProofOutcome::Kind::proved;
    case verifier::RuleVerdict::Kind::conditional: return generator::ProofOutcome::Kind::conditional;
    case verifier::RuleVerdict::Kind::refuted: return generator::ProofOutcome::Kind::refuted;
    case verifier::RuleVerdict::Kind::unknown: return generator::ProofOutcome::Kind::unknown;
  }
  return generator::ProofOutcome::Kind::unknown;
}

}  // namespace

generator::ProofOutcome CandidateProver::prove(const rules::Rule& candidate) {
  ++asked_;
  const auto start = std::chrono::steady_clock::now();
  verifier::RuleVerdict verdict;
  try {
    verdict = verifier::verify(candidate, properties_, options_, stop_.get_token());
  } catch (const InputError& error) {
    return {generator::ProofOutcome::Kind::unknown, {}, {}, error.what()};
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  const bool is_late = options_.time_limit > 0 && took.count() >= options_.time_limit;
  const bool is_certain =
      verdict.kind == verifier::RuleVerdict::Kind::proved || verdict.kind == verifier::RuleVerdict::Kind::conditional;
  if (is_late && !is_certain) ++timed_out_;
  if (!verdict.disagreement.empty()) {
    const std::lock_guard lock(mutex_);
    rules::Rule named = candidate;
    named.name = "disputed";
    if (disagreement_.empty()) disagreement_ = rules::print(named) + verdict.disagreement;
    stop_.request_stop();
  }
  return {kind_of(verdict.kind), verdict.properties, verdict.condition, verdict.reason};
}

std::string CandidateProver::disagreement() const {
  const std::lock_guard lock(mutex_);
  return disagreement_;
}

}  // namespace taso::cli
