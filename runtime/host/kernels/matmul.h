// Batched matrix products, with broadcasting of the leading dimensions.
#pragma once

#include "ops/core/shape.h"

namespace taso::runtime::kernels {

/// a is [..., rows, depth], b is [..., depth, columns], c is `result`.
template <class T>
void matmul(const Extents& a_extents, const Extents& b_extents, const Extents& result, const T* a, const T* b, T* c,
            unsigned threads);

}  // namespace taso::runtime::kernels
