// What a graph takes as it runs.
#pragma once

#include <algorithm>

#include "cost/plan/kernel.h"

namespace taso::search {

struct RunTime {
  cost::Cost in_lanes = 0;  ///< with kernels that do not need one another side by side
  cost::Cost in_a_row =
      0;  ///< one kernel after the other; those that repeat one another may take less than their prices

  bool operator==(const RunTime&) const = default;
};

/// What is chosen by. Lanes are what runs, but predicted less surely than kernels in a row: hundredths that are gained by them
/// alone are not worth tenths in a row.
inline cost::Cost weighed(const RunTime& time) { return time.in_lanes + time.in_a_row / 5; }

/// What a changed graph is believed to take in lanes, if they bring anything: a quarter of what they bring is taken off, and a
/// hundredth more. It was found for what is predicted, and fewer, larger kernels leave less room beside them than is thought: on a
/// GPU what searches found took 0 to 9 % more in lanes than predicted, beside the graphs that they were given, the more so the more
/// lanes bring; and the same graph, loaded twice, is up to a hundredth apart (see cost/README.md). Never more than in a row, which is
/// how it runs where lanes bring nothing.
template <class Time>
Time believed_in_lanes(Time in_lanes, Time in_a_row) {
  return std::min(in_a_row, in_lanes + (in_a_row - in_lanes) / 4 + in_lanes / 100);
}

/// By how much it takes longer than the graph that was given. What does so in one way is of no use, however fast it is in the
/// other.
inline cost::Cost excess(const RunTime& time, const RunTime& before) {
  if (time == before) return 0;
  return std::max<cost::Cost>(believed_in_lanes(time.in_lanes, time.in_a_row) - before.in_lanes, 0) +
         std::max<cost::Cost>(time.in_a_row - before.in_a_row, 0);
}

}  // namespace taso::search
