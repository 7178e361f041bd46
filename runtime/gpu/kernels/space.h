// The index space of a kernel, and the strides of each operand along its axes. Axes that are contiguous for all
// operands are merged, so that dense data has a single index.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/gpu/kernels/code.h"

namespace taso::gpu::kernels {

/// An operand as a kernel accesses it.
struct Access {
  bool is_written = false;
  std::uint32_t operand = 0;
  ElementType element = ElementType::undefined;
  cost::Strides strides;  ///< along each axis of the space; 0 where it does not move
  /// The operand is aligned to this many bytes: see source.h.
  std::int64_t alignment = 1;
  bool operator==(const Access&) const = default;
};

/// The alignment of an operand in bytes, at most 16.
std::int64_t alignment_of(const cost::Call::Operand& operand);

struct Axis {
  std::int64_t extent = 1;
  cost::Strides strides;  ///< of each access
};

/// The axes of a space with the strides of the accesses.
std::vector<Axis> axes_of(const Extents& space, const std::vector<Access>& accesses);
/// Drops axes of extent 1, sorts the others by the strides of one access, largest first, and merges them.
std::vector<Axis> simplified(std::vector<Axis> axes, std::size_t key);
/// Merges neighbouring axes as far as possible. The axes must be sorted.
void merge(std::vector<Axis>& axes);
std::int64_t count(const std::vector<Axis>& axes);
/// The access that covers the most elements. Sorting axes by its strides makes most memory accesses contiguous.
std::size_t largest(const std::vector<Axis>& axes, const std::vector<Access>& accesses);

/// The number of elements along the last axis that can be moved at once, at most `most`: every access that moves along
/// this axis must have stride 1.
std::int64_t vector_width(const std::vector<Axis>& axes, const std::vector<Access>& accesses, std::int64_t most = 16);
/// Whether 32 bits are too few for the number of elements or for the offsets of an access.
bool needs_wide_index(const std::vector<Axis>& axes, std::size_t accesses);
/// The same for the elements of one operand.
bool needs_wide_index(const cost::Call::Operand& operand);

/// Writes the index along each axis, computed from `flat`, which counts places, `width` elements each along the last
/// axis. Returns the names of the indices.
std::vector<std::string> write_indices(Code& code, const std::string& flat, std::string_view prefix,
                                       const std::vector<Axis>& axes, std::int64_t width, bool is_wide);
/// The offset of an access from its start; "0u" if it does not move.
std::string offset_text(const std::vector<Axis>& axes, std::size_t access, const std::vector<std::string>& indices,
                        std::int64_t width, bool is_wide);

}  // namespace taso::gpu::kernels
