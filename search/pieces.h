// Cuts a graph into pieces that are searched by themselves: where few values cross.
#pragma once

#include <vector>

#include "search/program/program.h"

namespace taso::search {

/// The computations that cost something, operands first, in pieces of about `size`: from two thirds of it to four thirds.
std::vector<std::vector<ComputationId>> pieces_of(const Program& program, std::size_t size);

}  // namespace taso::search
