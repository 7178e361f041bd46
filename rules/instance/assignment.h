// Numbers for the unknowns of an instance: where a rule is tried out, and what shows that its hypotheses can be met.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ops/core/random.h"
#include "rules/instance/compiled_dim.h"
#include "rules/instance/instance.h"

namespace taso::rules {

/// In the order of Instance::unknowns and Instance::real_variables.
struct Assignment {
  std::vector<std::int64_t> unknowns;
  std::vector<double> reals;
  auto operator<=>(const Assignment&) const = default;
};

/// The place of each unknown in Assignment::unknowns.
Places places_of(const Instance& instance);

struct CompiledRequirement {
  CompiledRequirement(const Requirement& requirement, const Places& places);
  /// False also when a side overflows or divides by what is not positive.
  bool holds(std::span<const std::int64_t> values) const;
  /// How far from holding: 0 if it holds.
  std::int64_t violation(std::span<const std::int64_t> values) const;

  Requirement::Kind kind;
  CompiledDim left, right;
};

/// Finds assignments under which all hypotheses of an instance hold, by local search. The instance may go, the
/// sampler stays usable.
class AssignmentSampler {
 public:
  explicit AssignmentSampler(const Instance& instance);

  /// Values mostly up to `bound`, beyond it only where the hypotheses ask for it. Nothing if none was found in a
  /// bounded number of steps, which is no proof that there is none. The same for the same state of `random`.
  std::optional<Assignment> sample(Random& random, std::int64_t bound = 5) const;
  /// Up to `count` different ones.
  std::vector<Assignment> samples(std::size_t count, std::uint64_t seed, std::int64_t bound = 5) const;
  bool admits(std::span<const std::int64_t> unknowns) const;
  const std::vector<std::int64_t>& least() const { return least_; }

 private:
  bool repair(std::vector<std::int64_t>& values, Random& random, std::int64_t bound) const;
  /// Of the hypotheses that mention the unknown.
  std::int64_t violation_around(std::size_t unknown, std::span<const std::int64_t> values) const;

  std::vector<std::int64_t> least_;
  std::size_t reals_ = 0;
  bool contradictory_ = false;  // a hypothesis without unknowns fails
  std::vector<CompiledRequirement> hypotheses_;
  std::vector<std::vector<std::size_t>> unknowns_of_;    // of each hypothesis
  std::vector<std::vector<std::size_t>> hypotheses_of_;  // of each unknown
};

}  // namespace taso::rules
