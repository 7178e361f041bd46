// Numbers for the unknowns of an instance: points at which to try a rule, and witnesses that its hypotheses are
// satisfiable.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ops/core/random.h"
#include "rules/instance/compiled_dim.h"
#include "rules/instance/instance.h"

namespace taso::rules {

/// Values in the order of Instance::unknowns and Instance::real_variables.
struct Assignment {
  std::vector<std::int64_t> unknowns;
  std::vector<double> reals;
  auto operator<=>(const Assignment&) const = default;
};

/// The index of each unknown in Assignment::unknowns.
Places places_of(const Instance& instance);

struct CompiledRequirement {
  CompiledRequirement(const Requirement& requirement, const Places& places);
  /// False also if a side overflows, or divides by a number that is not positive.
  bool holds(std::span<const std::int64_t> values) const;
  /// The distance from holding: 0 if it holds.
  std::int64_t violation(std::span<const std::int64_t> values) const;

  Requirement::Kind kind;
  CompiledDim left, right;
};

/// Finds assignments that satisfy all hypotheses of an instance, by local search. The sampler does not refer to the
/// instance afterwards.
class AssignmentSampler {
 public:
  explicit AssignmentSampler(const Instance& instance);

  /// Values are mostly up to `bound`, and above it only if the hypotheses need it. Nothing if none was found in a
  /// bounded number of steps, which does not prove that there is none. Deterministic for a given state of `random`.
  std::optional<Assignment> sample(Random& random, std::int64_t bound = 5) const;
  /// Up to `count` different assignments.
  std::vector<Assignment> samples(std::size_t count, std::uint64_t seed, std::int64_t bound = 5) const;
  bool admits(std::span<const std::int64_t> unknowns) const;
  const std::vector<std::int64_t>& least() const { return least_; }

 private:
  bool repair(std::vector<std::int64_t>& values, Random& random, std::int64_t bound) const;
  /// The total violation of the hypotheses that mention the unknown.
  std::int64_t violation_around(std::size_t unknown, std::span<const std::int64_t> values) const;

  std::vector<std::int64_t> least_;
  std::size_t reals_ = 0;
  bool contradictory_ = false;  // a hypothesis without unknowns fails
  std::vector<CompiledRequirement> hypotheses_;
  std::vector<std::vector<std::size_t>> unknowns_of_;    // of each hypothesis
  std::vector<std::vector<std::size_t>> hypotheses_of_;  // of each unknown
};

}  // namespace taso::rules
