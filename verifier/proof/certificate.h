// A proof's claims as SMT-LIB: if the proof is right, solvers answer "unsat" to every question.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "verifier/proof/proof.h"

namespace taso::verifier {

struct Certificate {
  /// Whether each step is allowed: the hypotheses entail every requirement of every step and of the rule's target.
  std::string arithmetic;
  /// Whether the steps suffice: the equality of the two sides follows from them.
  std::string equality;
  /// The requirements in `arithmetic`.
  std::vector<rules::Requirement> requirements;
  /// Empty, or why the proof is evidently wrong.
  std::string flaw;

  // The same for people (verifier/explanation): numbers that are proved equal have one form.
  std::vector<ProofTerm> terms;  ///< of the instance and of the steps; operands come first
  struct Equation {
    std::size_t left = 0, right = 0;  ///< terms
    std::size_t step = 0;             ///< of the proof
    std::vector<std::size_t> inputs;  ///< the terms that the property's inputs stand for
  };
  std::vector<Equation> equations;
  std::vector<std::pair<std::size_t, std::size_t>> goals;  ///< for each result: the source's term and the target's
};

/// Infers the shapes of all terms again; takes nothing from the search but its steps.
Certificate certify(const rules::Instance& instance, const Proof& proof, const rules::Properties& properties);

struct CertificateCheck {
  bool accepted = false;
  std::string reason;
  std::set<std::size_t> needed;  ///< the steps in Z3's unsat core; the others were not needed
};

/// The steps that the equality of the sides needs; nothing if it does not follow from the steps.
std::optional<std::set<std::size_t>> needed_steps(const Certificate& certificate, std::size_t steps, unsigned effort,
                                                  const std::stop_token& stop = {});

/// Asks Z3. `effort` is its step limit.
CertificateCheck check_certificate(const Certificate& certificate, const rules::Instance& instance, std::size_t steps,
                                   unsigned effort, const std::stop_token& stop = {});

}  // namespace taso::verifier
