// Handles products whose operands lie as not every kernel accepts them: a part of the channels of an NHWC tensor, or
// batches with several strides. Other kernels work on dense copies in scratch memory.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "runtime/gpu/launch.h"

namespace taso::gpu {

/// Visits every argument of a launch.
void for_each_argument(Launch& launch, const std::function<void(Argument&)>& visit);

/// Whether other channels lie between the pixels of an image.
bool is_part_of_channels(const cost::Call::Operand& operand);
/// The same operand without gaps.
cost::Call::Operand without_gaps(cost::Call::Operand operand);

/// The variants of a call that go through dense copies of the operand `read`, of the result, and of both, if these are
/// parts of channels. `ways` gives the variants of a call with dense operands, in the memory of the call's own
/// operands.
std::vector<Lowering> through_copies(const cost::Call& call, std::uint32_t read,
                                     const std::function<std::vector<Lowering>(const cost::Call&)>& ways);

/// The variants of a product or attention through dense copies of the factors, and of the result, whose batches have
/// several strides, also because some are repeated: libraries do not accept these. None if there are no such operands.
std::vector<Lowering> through_dense_batches(const cost::Call& call,
                                            const std::function<std::vector<Lowering>(const cost::Call&)>& ways);

}  // namespace taso::gpu
