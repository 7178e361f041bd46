// Proves a rule at small sizes: evaluates both sides on tensors of unknown reals, with the operators' own definitions,
// and Z3 shows that they are equal. It says nothing about larger sizes, but trusts nothing beside these definitions.
#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "rules/instance/concrete.h"

namespace taso::verifier {

struct SmallSizesOptions {
  std::uint64_t seed = 1;
  std::int64_t values = 2;      ///< number of values of each unknown: dimensions of 1 and 2, pads of 0 and 1
  std::size_t assignments = 8;  ///< at most, per instance
  std::size_t in_all = 32;      ///< at most, over all instances: if there are more, some are skipped
  double most_work = 400;       ///< operations per assignment
  unsigned effort = 2'000'000;  ///< Z3's step limit for each
  std::stop_token stop = {};
};

struct SmallSizes {
  std::size_t proved = 0, refuted = 0, unknown = 0;  ///< assignments
  std::size_t instances = 0;                         ///< with at least one assignment that was small enough
  /// For the first refuted one or, if there is none, the first unknown one. Functions such as exp are uninterpreted
  /// here: a rule that needs to know more about them is refuted, though it may be true.
  std::string reason;
};

SmallSizes check_small_sizes(const rules::Instance& instance, const SmallSizesOptions& options = {});
/// The sum over all instances, or over an evenly spaced sample.
SmallSizes check_small_sizes(const std::vector<rules::Instance>& instances, const SmallSizesOptions& options = {});

/// All assignments that satisfy the hypotheses with at most `values` different values for each unknown. Only the first
/// `most_seen` combinations are tried, in an order that depends on the seed.
std::vector<rules::Assignment> small_assignments(const rules::Instance& instance, std::int64_t values,
                                                 std::uint64_t seed, std::size_t most_seen = 20'000);

}  // namespace taso::verifier
