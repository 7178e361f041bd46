#include "rules/instance/choice_domain.h"

#include <algorithm>
#include <numeric>

namespace taso::rules {

ChoiceDomain axes_below(std::size_t rank) {
  ChoiceDomain domain;
  for (std::size_t i = 0; i < rank; ++i) domain.push_back({static_cast<std::int64_t>(i)});
  return domain;
}

ChoiceDomain permutations_of(std::size_t rank) {
  std::vector<std::int64_t> permutation(rank);
  std::iota(permutation.begin(), permutation.end(), 0);
  ChoiceDomain domain;
  do domain.push_back(permutation);
  while (std::next_permutation(permutation.begin(), permutation.end()));
  return domain;
}

ChoiceDomain subsets_of(std::size_t rank) {
  ChoiceDomain domain;
  for (std::size_t bits = 1; bits < (std::size_t{1} << rank); ++bits) {
    std::vector<std::int64_t> subset;
    for (std::size_t i = 0; i < rank; ++i)
      if (bits >> i & 1) subset.push_back(static_cast<std::int64_t>(i));
    domain.push_back(std::move(subset));
  }
  return domain;
}

}  // namespace taso::rules
