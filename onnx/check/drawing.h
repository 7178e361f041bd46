// Operands for the numeric check: random numbers of several kinds, the same for the same seed.
#pragma once

#include <cstdint>
#include <string_view>

#include "ops/graph/graph.h"

namespace taso::onnx {

/// How the floating-point numbers of a tensor are drawn. Integers and booleans are always drawn in the same way.
enum class Draw : std::uint8_t {
  normal,           ///< around 0, of size 1
  positive,         ///< 1 or more, for operators that need positive numbers
  between_0_and_1,  ///< away from both ends, for operators that need a share
  small,            ///< around 0, of size 1/16, for functions that grow fast
  large,            ///< as `normal`, but 10,000 times as large; 32 times in float16, whose largest number is 65,504
  with_nan,         ///< as `normal`, but some elements are NaN
  with_infinity,
  with_minus_infinity,
  with_huge,  ///< some elements are a quarter of the largest number of the type
  with_tiny,  ///< some elements are denormal, 0 or -0
  with_all,   ///< some elements are one of the above
};

/// Draws a tensor. Integers are below `range`.
Array draw_array(const Type& type, const Extents& extents, std::int64_t range, std::uint64_t seed, Draw draw);

/// The number of values that an integer input may take: the length of the axis that it indexes.
std::int64_t index_range(const Graph& graph, const Value& input);

std::uint64_t hash_name(std::string_view name);

}  // namespace taso::onnx
