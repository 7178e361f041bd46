// Operands for the numeric check: random numbers of several kinds, the same for the same seed.
#pragma once

#include <cstdint>
#include <string_view>

#include "ops/graph/graph.h"

namespace taso::onnx {

/// How the floating-point numbers of a tensor are drawn. Integers and booleans are drawn alike in all of them.
enum class Draw : std::uint8_t {
  normal,           ///< around 0, of size 1
  positive,         ///< from 1 on, for what wants no zero and no negative number
  between_0_and_1,  ///< away from both, for what wants a share
  small,            ///< around 0, of size 1/16, for what grows fast
  large,            ///< as in `normal`, but 10,000 times as large; 32 times in float16, which ends at 65,504
  with_nan,         ///< as in `normal`, but some elements are NaN
  with_infinity,
  with_minus_infinity,
  with_huge,  ///< some elements are a quarter of the largest number of the type
  with_tiny,  ///< some elements are denormal, 0 or -0
  with_all,   ///< some elements are one of all these
};

/// `range`: integers are below it.
Array draw_array(const Type& type, const Extents& extents, std::int64_t range, std::uint64_t seed, Draw draw);

/// The number of values that an integer input may take, from what it selects: the length of the axis that it indexes.
std::int64_t index_range(const Graph& graph, const Value& input);

std::uint64_t hash_name(std::string_view name);

}  // namespace taso::onnx
