// A proof from properties as a chain of equal terms, each of which follows from the one before by one property.
#pragma once

#include <cstddef>
#include <vector>

#include "verifier/proof/certificate.h"

namespace taso::verifier {

struct ChainStep {
  std::size_t equation = 0;               ///< of the certificate
  bool is_reversed = false;               ///< read from right to left
  std::size_t part = 0, replaced_by = 0;  ///< the part of the term that changes
  std::size_t result = 0;                 ///< the whole term after the step
};

struct Chain {
  std::vector<ProofTerm> terms;  ///< those of the certificate and those in between
  struct Result {
    std::size_t begin = 0;
    std::vector<ChainStep> steps;
    bool is_complete = false;  ///< whether the last step's result is the target
  };
  std::vector<Result> results;  ///< one for each result of the rule
};

Chain chain_of(const Certificate& certificate);

/// The same proof with each property applied to the shortest terms that are equal to those of the search, which takes
/// any of them. It must be certified again: steps may have become superfluous.
Proof with_short_terms(const Certificate& certificate, const Proof& proof);

}  // namespace taso::verifier
