// Element-wise operators that no rule knows but every device can run. This header only names them; the functions of the
// same names in runtime/host define them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "ops/core/namespace.h"

namespace taso::ops {

struct PlainFunction {
  /// Operands broadcast to the result, except those of `quantise` and `dequantise`.
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
    quantise,    ///< operands after the first are scalars, or have one value per slice along `axis`
    dequantise,  ///< likewise
  };
  Kind kind = Kind::equal;
  std::int64_t axis = 1;  ///< for these two; may be negative
  bool operator==(const PlainFunction&) const = default;
};

/// The operator's name in ONNX.
std::string_view name_of(PlainFunction::Kind kind);
std::optional<PlainFunction::Kind> plain_function_named(std::string_view name);

}  // namespace taso::ops
