// Corrected programs with the prover, as in taso-gen --partial.
#pragma once

#include <string>
#include <vector>

#include "generator/partial/partial.h"

namespace taso::test {

/// What is found and proved for these kinds, without a time limit, so that a busy machine changes nothing.
generator::PartialReport partial_report(const std::vector<std::string>& kinds, unsigned jobs, double least_share = 0.5);

}  // namespace taso::test
