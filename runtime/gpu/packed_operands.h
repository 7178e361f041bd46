// Products whose image, or whose result, is a part of channels that lie side by side with others. What does not take such
// operands works on dense copies in scratch memory.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "runtime/gpu/launch.h"

namespace taso::gpu {

/// Whether other channels lie between the places of an image.
bool is_part_of_channels(const cost::Call::Operand& operand);
/// The same operand with nothing in between.
cost::Call::Operand without_gaps(cost::Call::Operand operand);

/// The ways of a call that has an operand read so, or its result written so, through dense copies: of either, and of both.
/// `ways` gives those of a call that has none, in memory of the call's own operands.
std::vector<Lowering> through_copies(const cost::Call& call, std::uint32_t read,
                                     const std::function<std::vector<Lowering>(const cost::Call&)>& ways);

}  // namespace taso::gpu
