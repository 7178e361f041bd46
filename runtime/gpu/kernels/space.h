// The space of indices that a kernel goes through, and how each operand moves along its axes. Axes along which all operands
// move as one are one axis, so that what lies densely has a single index.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/gpu/kernels/code.h"

namespace taso::gpu::kernels {

/// An operand as a kernel goes through it.
struct Access {
  bool is_written = false;
  std::uint32_t operand = 0;
  ElementType element = ElementType::undefined;
  cost::Strides strides;  ///< along each axis of the space; 0 where it stays
  /// The operand begins at a multiple of so many bytes: see source.h.
  std::int64_t alignment = 1;
  bool operator==(const Access&) const = default;
};

/// The bytes, 16 at most, that an operand's begin is a multiple of.
std::int64_t alignment_of(const cost::Call::Operand& operand);

struct Axis {
  std::int64_t extent = 1;
  cost::Strides strides;  ///< of each access
};

/// Axes of a space with the accesses' strides.
std::vector<Axis> axes_of(const Extents& space, const std::vector<Access>& accesses);
/// Without axes of 1, sorted by the strides of one access, the largest first, and merged.
std::vector<Axis> simplified(std::vector<Axis> axes, std::size_t key);
/// Merges neighbours as far as possible; for axes that are in order already.
void merge(std::vector<Axis>& axes);
std::int64_t count(const std::vector<Axis>& axes);
/// The access that moves along most elements: who sorts axes by it reads and writes most of what is near together.
std::size_t largest(const std::vector<Axis>& axes, const std::vector<Access>& accesses);

/// How many elements along the last axis can be moved at once, up to `most`: all accesses that move along it must do so by
/// single elements.
std::int64_t vector_width(const std::vector<Axis>& axes, const std::vector<Access>& accesses, std::int64_t most = 16);
/// Whether 32 bits are not enough for the elements that are gone through, or for how far an access goes.
bool needs_wide_index(const std::vector<Axis>& axes, std::size_t accesses);

/// Writes what index each axis has, where `flat` counts all places, `width` at once along the last axis; gives their names.
std::vector<std::string> write_indices(Code& code, const std::string& flat, std::string_view prefix,
                                       const std::vector<Axis>& axes, std::int64_t width, bool is_wide);
/// How far from its begin an access is; "0u" if it stays there.
std::string offset_text(const std::vector<Axis>& axes, std::size_t access, const std::vector<std::string>& indices,
                        std::int64_t width, bool is_wide);

}  // namespace taso::gpu::kernels
