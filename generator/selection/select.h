// Selects, among all equalities that an enumeration found, those from which the rest follow.
#pragma once

#include <functional>
#include <stop_token>
#include <vector>

#include "generator/enumeration/enumerate.h"

namespace taso::generator {

struct Selection {
  std::vector<Equality> equalities;  ///< the smallest first
  std::uint64_t following = 0;       ///< dropped because they follow from others
  std::uint64_t unconfirmed = 0;     ///< dropped because they do not hold at other shapes or contents
};

struct SelectOptions {
  std::uint64_t seed = 1;
  Contents contents = Contents::field;
  unsigned jobs = 1;
  std::stop_token stop;
  std::function<void(std::size_t done, std::size_t total)> watch;
};

/// The result is the same for any number of jobs.
Selection select(const Family& family, Enumeration enumeration, const SelectOptions& options);

}  // namespace taso::generator
