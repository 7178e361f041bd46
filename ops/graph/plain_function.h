// Operators that no rule knows but a device may be able to compute: what their nodes say. The functions of the same
// names in runtime/host define them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ops/core/attributes.h"

namespace taso::ops {

struct PlainFunction {
  std::string name;  ///< in ONNX
  std::int64_t opset = 0;
  Attributes attributes;
  /// The contents of operands that are small constants; empty for all others. May be shorter than the operands.
  std::vector<std::optional<Array>> constants = {};
};

}  // namespace taso::ops
