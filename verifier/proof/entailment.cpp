#include "verifier/proof/entailment.h"

#include "ops/core/error.h"
#include "verifier/integers/facts.h"

namespace taso::verifier {

Entailment::Entailment(const std::vector<rules::Unknown>& unknowns, const std::vector<rules::Requirement>& hypotheses,
                       unsigned effort) {
  try {
    facts_ = std::make_unique<Facts>(unknowns, hypotheses, effort, true);
  } catch (const ProofLimit&) {
    facts_.reset();  // too large to reason about: every answer is "unknown"
  }
}
Entailment::~Entailment() = default;
Entailment::Entailment(Entailment&&) noexcept = default;

Entailment::Answer Entailment::entails(const rules::Requirement& requirement) {
  if (!facts_) return Answer::unknown;
  try {
    switch (facts_->entails(requirement)) {
      case verifier::Answer::yes: return Answer::yes;
      case verifier::Answer::no: return Answer::no;
      case verifier::Answer::unknown: break;
    }
  } catch (const ProofLimit&) {
  }
  return Answer::unknown;
}

bool Entailment::consistent() { return !facts_ || facts_->satisfiable({}) != verifier::Answer::no; }

std::size_t Entailment::solver_calls() const { return facts_ ? facts_->solver_calls() : 0; }

}  // namespace taso::verifier
