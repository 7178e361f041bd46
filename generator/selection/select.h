// Selects, among all equalities that an enumeration found, those from which the rest follow.
#pragma once

#include <functional>
#include <stop_token>
#include <vector>

#include "generator/enumeration/enumerate.h"
#include "generator/stages.h"
#include "ops/cluster/communicator.h"

namespace taso::generator {

struct Selection {
  std::vector<Equality> equalities;  ///< the smallest first
  std::uint64_t following = 0;       ///< dropped because they follow from others
  std::uint64_t unconfirmed = 0;     ///< dropped because they do not hold at other shapes or contents
  bool complete = true;              ///< false if any rank was asked to stop
};

struct SelectOptions {
  std::uint64_t seed = 1;
  Contents contents = Contents::field;
  unsigned jobs = 1;
  Communicator* ranks = nullptr;  ///< null: one
  StageStore stages;              ///< keeps what was decided so far, from time to time
  std::stop_token stop;
  std::function<void(std::size_t done, std::size_t total)> watch;
};

/// The result is the same for any number of jobs and ranks, on every rank.
Selection select(const Family& family, Enumeration enumeration, const SelectOptions& options);

}  // namespace taso::generator
