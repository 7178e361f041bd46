// Proves a rule at small sizes: both sides are evaluated on tensors of unknown reals, from the operators' one meaning,
// and Z3 shows that they are equal. It says nothing of larger sizes, but it trusts nothing beside that meaning.
#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "rules/instance/concrete.h"

namespace taso::verifier {

struct SmallSizesOptions {
  std::uint64_t seed = 1;
  std::int64_t values = 2;      ///< how many values of each unknown: dimensions of 1 and 2, pads of 0 and 1
  std::size_t assignments = 8;  ///< at most, of one instance
  std::size_t in_all = 32;      ///< at most, of all instances: where there are more, some are passed over
  double most_work = 400;       ///< operations of one of them
  unsigned effort = 2'000'000;  ///< of Z3, for each
  std::stop_token stop = {};
};

struct SmallSizes {
  std::size_t proved = 0, refuted = 0, unknown = 0;  ///< assignments
  std::size_t instances = 0;                         ///< with at least one assignment that was small enough
  /// Of the first that was refuted or, if there is none, of the first that is unknown. Functions such as exp are any
  /// functions here: a rule that needs more of them is refuted, though it may be true.
  std::string reason;
};

SmallSizes check_small_sizes(const rules::Instance& instance, const SmallSizesOptions& options = {});
/// All instances, or some that are spread evenly, added up.
SmallSizes check_small_sizes(const std::vector<rules::Instance>& instances, const SmallSizesOptions& options = {});

/// All assignments with unknowns of at most `values` different values each that meet the hypotheses; the first
/// `most_seen` combinations are looked at, in an order that depends on the seed.
std::vector<rules::Assignment> small_assignments(const rules::Instance& instance, std::int64_t values,
                                                 std::uint64_t seed, std::size_t most_seen = 20'000);

}  // namespace taso::verifier
