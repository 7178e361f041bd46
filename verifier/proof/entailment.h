// Whether a rule's hypotheses entail what a proof step needs of its dimensions and attributes.
#pragma once

#include <memory>
#include <vector>

#include "rules/instance/instance.h"

namespace taso::verifier {

class Facts;

/// Questions about the integers of one instance. Equality of polynomials and bounds settle most of them; Z3 has the
/// rest. Answers are kept. Belongs to the thread that made it.
class Entailment {
 public:
  enum class Answer {
    yes,
    no,       ///< integers that satisfy the hypotheses and not the requirement were found
    unknown,  ///< the solver gave up
  };
  /// `effort` is Z3's own count of steps for one question.
  Entailment(const std::vector<rules::Unknown>& unknowns, const std::vector<rules::Requirement>& hypotheses,
             unsigned effort = 400'000);
  ~Entailment();
  Entailment(Entailment&&) noexcept;

  Answer entails(const rules::Requirement& requirement);
  /// False only if no integers satisfy the hypotheses.
  bool consistent();
  /// How often Z3 was needed.
  std::size_t solver_calls() const;

 private:
  std::unique_ptr<Facts> facts_;
};

}  // namespace taso::verifier
