// Decides whether a rule's hypotheses entail what a proof step needs of its dimensions and attributes.
#pragma once

#include <memory>
#include <vector>

#include "rules/instance/instance.h"

namespace taso::verifier {

class Facts;

/// Questions about the integers of one instance. Equality of polynomials and bounds answer most of them; Z3 answers the
/// rest. Answers are cached. Belongs to the thread that made it.
class Entailment {
 public:
  enum class Answer {
    yes,
    no,       ///< some integers satisfy the hypotheses but not the requirement
    unknown,  ///< the solver gave up
  };
  /// `effort` is Z3's step limit for one question.
  Entailment(const std::vector<rules::Unknown>& unknowns, const std::vector<rules::Requirement>& hypotheses,
             unsigned effort = 800'000);
  ~Entailment();
  Entailment(Entailment&&) noexcept;

  Answer entails(const rules::Requirement& requirement);
  /// False only if no integers satisfy the hypotheses.
  bool consistent();
  /// The number of calls of Z3.
  std::size_t solver_calls() const;

 private:
  std::unique_ptr<Facts> facts_;
};

}  // namespace taso::verifier
