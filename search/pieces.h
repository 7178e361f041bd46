// Cuts a graph into pieces, which are searched separately, where few values cross.
#pragma once

#include <vector>

#include "search/program/program.h"

namespace taso::search {

/// The computations that cost something, operands first, in pieces of two thirds to four thirds of `size`.
std::vector<std::vector<ComputationId>> pieces_of(const Program& program, std::size_t size);

}  // namespace taso::search
