// Operators that no rule knows, but that every device can do element by element. Their meaning is that of the plain functions
// in runtime/host with the same names: here is only which of them an operator is.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "ops/core/namespace.h"

namespace taso::ops {

struct PlainFunction {
  /// Operands broadcast to the result, but for those of `quantise` and `dequantise`.
  enum class Kind : std::uint8_t {
    equal,
    less,
    less_or_equal,
    greater,
    greater_or_equal,
    both,
    either,
    one_of_two,
    negate,
    choose,
    quantise,    ///< operands behind the first are single numbers, or have one for each slice of its axis
    dequantise,  ///< likewise
  };
  Kind kind = Kind::equal;
  std::int64_t axis = 1;  ///< of those two; may be negative
  bool operator==(const PlainFunction&) const = default;
};

/// What ONNX calls it.
std::string_view name_of(PlainFunction::Kind kind);
std::optional<PlainFunction::Kind> plain_function_named(std::string_view name);

}  // namespace taso::ops
