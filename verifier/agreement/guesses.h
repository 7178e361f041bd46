// Boxes for all sizes, guessed from the blocks that are equal at some sizes.
#pragma once

#include <vector>

#include "rules/instance/instance.h"
#include "verifier/agreement/samples.h"

namespace taso::verifier {

struct Guess {
  Box box;
  std::vector<Block> blocks;  ///< the box at each sample
};

/// Boxes with these bounds for each axis that contain only equal positions at every sample.
std::vector<Guess> guesses_of(const rules::Instance& instance, const std::vector<std::vector<Dim>>& bounds,
                              const std::vector<Sample>& samples);

}  // namespace taso::verifier
