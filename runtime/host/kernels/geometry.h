// Moves elements of any type, by their size.
#pragma once

#include <cstddef>

#include "ops/core/tensor.h"

namespace taso::runtime::kernels {

/// Copies `runs` runs of `bytes` bytes; run i goes from `from + i * from_step` to `to + i * to_step`.
void copy_runs(const std::byte* from, std::size_t from_step, std::byte* to, std::size_t to_step, std::size_t bytes,
               std::int64_t runs, unsigned threads);

/// Axis i of the result is axis permutation[i] of x.
void transpose(const std::byte* x, const Extents& extents, const std::vector<std::int64_t>& permutation,
               std::size_t element, std::byte* out, unsigned threads);

/// Puts x at `before` into the result; all other elements become `fill`.
void pad(const std::byte* x, const Extents& extents, const Extents& before, const Extents& result, std::size_t element,
         const std::byte* fill, std::byte* out, unsigned threads);

}  // namespace taso::runtime::kernels
