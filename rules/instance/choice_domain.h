// The possible values of a rule's variable that stands for axes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace taso::rules {

/// Each element is one choice: an axis, a switch, a list of axes or a permutation.
using ChoiceDomain = std::vector<std::vector<std::int64_t>>;

ChoiceDomain axes_below(std::size_t rank);
ChoiceDomain permutations_of(std::size_t rank);
/// All non-empty subsets.
ChoiceDomain subsets_of(std::size_t rank);

}  // namespace taso::rules
