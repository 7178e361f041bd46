// How much of a GPU a kernel fills, for telling how kernels get on with one another side by side.
#pragma once

#include "cost/kernel.h"

namespace taso {

/// From above 0 to 1. Estimated from how many blocks its result makes, and from the bytes that it moves in the time that it
/// takes.
double share_of(const Kernel& kernel, Cost price);

}  // namespace taso
