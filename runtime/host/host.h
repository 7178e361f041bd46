// Operators outside the rewriting set, as plain functions on arrays: real models contain many of them. They follow the
// ONNX specification of the operator at the given opset, and do not depend on protobuf.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ops/core/array.h"

namespace taso::runtime {

/// The attributes of an ONNX node.
class Attributes {
 public:
  using Attribute = std::variant<std::int64_t, double, std::string, std::vector<std::int64_t>, std::vector<double>,
                                 std::vector<std::string>, Array>;

  void set(std::string name, Attribute value) { values_.insert_or_assign(std::move(name), std::move(value)); }
  bool has(std::string_view name) const { return values_.find(name) != values_.end(); }
  // Each throws InputError if the attribute exists but is of another kind.
  std::int64_t integer(std::string_view name, std::int64_t otherwise) const;
  double number(std::string_view name, double otherwise) const;
  std::string text(std::string_view name, std::string otherwise) const;
  std::vector<std::int64_t> integers(std::string_view name, std::vector<std::int64_t> otherwise = {}) const;
  std::vector<double> numbers(std::string_view name, std::vector<double> otherwise = {}) const;
  std::vector<std::string> texts(std::string_view name) const;
  std::optional<Array> array(std::string_view name) const;

 private:
  std::map<std::string, Attribute, std::less<>> values_;
};

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
