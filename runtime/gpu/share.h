// Estimates how much of a GPU a kernel fills, to predict concurrent kernels.
#pragma once

#include "cost/plan/kernel.h"
#include "cost/pricing/precision.h"

namespace taso::gpu {

/// Above 0, at most 1. Estimated from the number of blocks of the result, and from the bytes moved per time.
double share_of(const cost::Kernel& kernel, cost::Cost price);

/// Above 0, at most 1: the share of its time that the kernel would need with the whole GPU and without any waiting.
/// Counts its bytes, and the factors that the tiles of a product fetch.
double load_of(const cost::Kernel& kernel, cost::Cost price, cost::Precision precision);

}  // namespace taso::gpu
