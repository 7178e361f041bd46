// A proof that a rule's instance holds: ground instances of properties, from which the equality of its sides follows by
// congruence alone.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "rules/egraph/property.h"
#include "rules/egraph/saturation.h"

namespace taso::verifier {

/// A term over the instance's inputs; operands are indices of earlier terms.
struct ProofTerm {
  std::optional<std::size_t> input;  ///< index in Instance::inputs
  rules::SymbolicOperator op;
  std::size_t output = 0;
  std::vector<std::size_t> operands;
  bool operator==(const ProofTerm&) const = default;
};

/// A use of a property: source = target of its instance, for these inputs and attributes.
struct ProofStep {
  std::size_t property = 0;
  std::size_t result = 0;
  const rules::PropertyInstance* instance = nullptr;
  std::vector<std::size_t> inputs;  ///< terms for the property's inputs
  std::vector<Dim> unknowns;        ///< for instance->instance.unknowns; dimensions of inputs are those of the terms
  std::vector<rules::RealAttribute> reals;  ///< for the property's variables; meaningful for real ones
};

struct Proof {
  std::vector<ProofTerm> terms;
  std::vector<ProofStep> steps;
  /// The values of a dimension in a few models: a hint which numbers may be equal.
  std::function<std::optional<std::vector<std::int64_t>>(const Dim&)> values;
};

struct ProofLimits {
  rules::SaturationLimits saturation;
  std::size_t attempts = 3;  ///< each with other models, in case the first ones agree by chance
  unsigned effort = 4'000'000;
  std::uint64_t seed = 1;
};

/// A proof, or why there is none.
struct ProofResult {
  enum class Kind {
    proved,
    vacuous,   ///< no numbers that satisfy the hypotheses were found
    no_proof,  ///< the search ended without one
    unchecked  ///< the proof that was found did not pass the check
  } kind = Kind::no_proof;
  std::string reason;
  Proof proof;
  std::vector<std::size_t> properties;  ///< used, sorted
  std::string certificate;              ///< Z3's questions as SMT-LIB: every check-sat must answer unsat
};

ProofResult prove(const rules::Instance& instance, const rules::Properties& properties, const ProofLimits& limits = {},
                  const std::stop_token& stop = {});

}  // namespace taso::verifier
