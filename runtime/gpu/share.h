// How much of a GPU a kernel fills, for telling how kernels get on with one another side by side.
#pragma once

#include "cost/plan/kernel.h"
#include "cost/pricing/precision.h"

namespace taso::gpu {

/// From above 0 to 1. Estimated from how many blocks its result makes, and from the bytes that it moves in the time that it
/// takes.
double share_of(const cost::Kernel& kernel, cost::Cost price);

/// From above 0 to 1: how long it would take if it could have all of the GPU without waiting for anything, of the time that it
/// takes. Its bytes count, and what its tiles fetch of the factors of a product.
double load_of(const cost::Kernel& kernel, cost::Cost price, cost::Precision precision);

}  // namespace taso::gpu
