// Ends of slices on whose meaning the standard and ONNX Runtime do not agree.
#pragma once

#include <cstdint>
#include <limits>

namespace taso::runtime {

/// Whether a slice runs backwards to the largest number of 32 or 64 bits. The standard clamps it to the last element,
/// so that nothing is taken; ONNX Runtime takes it for "as far as possible", and goes on to the first.
constexpr bool is_ambiguous_slice(std::int64_t end, std::int64_t step) {
  return step < 0 &&
         (end == std::numeric_limits<std::int32_t>::max() || end == std::numeric_limits<std::int64_t>::max());
}

}  // namespace taso::runtime
