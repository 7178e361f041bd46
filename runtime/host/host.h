// Operators outside the rewriting set, as plain functions on arrays: real models contain many of them. They follow the
// ONNX specification of the operator at the given opset, and do not depend on protobuf.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ops/core/attributes.h"

namespace taso::runtime {

using ops::Attributes;

struct HostCall {
  std::string_view op_type;
  std::int64_t opset = 0;  ///< of the operator's domain
  const Attributes& attributes;
  std::vector<std::optional<Array>> inputs;  ///< an omitted optional operand is empty
  std::size_t outputs = 1;                   ///< the number of outputs of the node, without omitted trailing ones

  bool has(std::size_t index) const { return index < inputs.size() && inputs[index].has_value(); }
  /// The operand; throws InputError if it is missing.
  const Array& input(std::size_t index) const;
};

/// Returns the results of the operator, at least HostCall::outputs of them. Throws InputError if the operands do not
/// fit.
using HostFunction = std::vector<Array> (*)(const HostCall&);

/// The function for an operator of ONNX's own domain ("" is ai.onnx); null if there is none.
HostFunction find_host_function(std::string_view domain, std::string_view op_type);
/// All operators (op_type) of the default domain that have a function, sorted.
std::vector<std::string_view> host_functions();

}  // namespace taso::runtime
