// Attention as three kernels: its products and its softmax, with the scores in memory between them.
#pragma once

#include <functional>
#include <vector>

#include "runtime/gpu/launch.h"

namespace taso::gpu {

/// The variants of an attention call that compute its parts one after the other: with products of a library, and with
/// products of our own where we have them. `ways` gives the variants of a product or of rows.
std::vector<Lowering> attention_in_parts(const cost::Call& call,
                                         const std::function<std::vector<Lowering>(const cost::Call&)>& ways);

}  // namespace taso::gpu
