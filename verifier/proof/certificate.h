// What a proof claims, written as SMT-LIB: solvers answer "unsat" to every question if the proof is right.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "verifier/proof/proof.h"

namespace taso::verifier {

struct Certificate {
  /// Whether each step may be taken: the hypotheses entail every requirement of every step and of the rule's target.
  std::string arithmetic;
  /// Whether the steps suffice: equality of the two sides follows from them.
  std::string equality;
  /// The requirements in `arithmetic`.
  std::vector<rules::Requirement> requirements;
  /// Empty, or what makes the proof wrong on the face of it.
  std::string flaw;
};

/// Shapes of all terms are inferred afresh; nothing of the search is believed but which steps it took.
Certificate certify(const rules::Instance& instance, const Proof& proof, const rules::Properties& properties);

struct CertificateCheck {
  bool accepted = false;
  std::string reason;
  std::set<std::size_t> needed;  ///< the steps in Z3's reason; the others were not needed
};

/// Which steps the sides' equality needs; nothing if it does not follow from them.
std::optional<std::set<std::size_t>> needed_steps(const Certificate& certificate, std::size_t steps, unsigned effort,
                                                  const std::stop_token& stop = {});

/// Asks Z3. `effort` is its own count of steps.
CertificateCheck check_certificate(const Certificate& certificate, const rules::Instance& instance, std::size_t steps,
                                   unsigned effort, const std::stop_token& stop = {});

}  // namespace taso::verifier
