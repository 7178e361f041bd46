// Convolutions whose windows do not overlap, as at the start of a vision transformer: with the windows side by side in
// scratch memory they are a product of matrices.
#pragma once

#include <functional>
#include <vector>

#include "runtime/gpu/launch.h"

namespace taso::gpu {

/// The variants of such a convolution through a copy of its windows. None for other convolutions, and for those with
/// steps behind them. `ways` gives the variants of a product.
std::vector<Lowering> through_patches(const cost::Call& call,
                                      const std::function<std::vector<Lowering>(const cost::Call&)>& ways);

}  // namespace taso::gpu
