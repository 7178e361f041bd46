// What a graph takes as it runs.
#pragma once

#include <algorithm>

#include "cost/kernel.h"

namespace taso {

struct RunTime {
  Cost in_lanes = 0;  ///< with kernels that do not need one another side by side
  Cost in_a_row =
      0;  ///< one kernel after the other, where those that repeat one another may take less than their prices

  bool operator==(const RunTime&) const = default;
};

/// What is chosen by. Lanes are what runs, but predicted less surely than kernels in a row: hundredths that are gained by them
/// alone are not worth tenths in a row.
inline Cost weighed(const RunTime& time) { return time.in_lanes + time.in_a_row / 5; }

/// By how much it takes longer than the graph that was given. What does so in one way is of no use, however fast it is in the
/// other.
inline Cost excess(const RunTime& time, const RunTime& before) {
  return std::max<Cost>(time.in_lanes - before.in_lanes, 0) + std::max<Cost>(time.in_a_row - before.in_a_row, 0);
}

}  // namespace taso
