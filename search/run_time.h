// What a graph takes as it runs.
#pragma once

#include "cost/kernel.h"

namespace taso {

struct RunTime {
  Cost in_lanes = 0;  ///< with kernels that do not need one another side by side
  Cost in_a_row =
      0;  ///< one kernel after the other, where those that repeat one another may take less than their prices

  bool operator==(const RunTime&) const = default;
};

}  // namespace taso
