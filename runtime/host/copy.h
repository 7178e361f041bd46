// Copies between tensors of any element type along strides. The operators that only move data use it.
#pragma once

#include <cstring>

#include "ops/core/array.h"

namespace taso::runtime {

/// Calls `visit` with an integral constant: the element size, so that a copy of one element becomes one instruction.
template <class Visit>
void with_element_size(std::size_t size, Visit&& visit) {
  switch (size) {
    case 1: return visit(std::integral_constant<std::size_t, 1>{});
    case 2: return visit(std::integral_constant<std::size_t, 2>{});
    case 4: return visit(std::integral_constant<std::size_t, 4>{});
    default:
      check(size == 8, "elements are of 1, 2, 4 or 8 bytes");
      return visit(std::integral_constant<std::size_t, 8>{});
  }
}

/// Copies extents.size() dimensions; strides are in elements and may be zero or negative. The caller checks the bounds.
void copy_strided(std::byte* to, std::vector<std::int64_t> to_strides, const std::byte* from,
                  std::vector<std::int64_t> from_strides, Extents extents, std::size_t element_size);

/// to[i, j, …] = from[tables[0][i] + tables[1][j] + …], in elements. `to` is dense; the caller checks the bounds.
void copy_mapped(std::byte* to, const std::byte* from, const std::vector<std::vector<std::int64_t>>& tables,
                 std::size_t element_size);

/// Writes `count` copies of one element.
void fill(std::byte* to, const std::byte* element, std::size_t count, std::size_t element_size);

/// A new dense array with the elements of `from`, read at `offset` with the given strides (in elements).
Array gather_strided(const Array& from, std::int64_t offset, std::vector<std::int64_t> strides, Array result);

}  // namespace taso::runtime
