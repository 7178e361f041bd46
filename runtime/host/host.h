// Operators outside the rewriting set, as plain functions on arrays: what real models are full of.
// They follow the ONNX specification of the operator at the given opset, and know nothing of protobuf.
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
  // Each throws InputError if the attribute is there and of another kind.
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
  std::vector<std::optional<Array>> inputs;  ///< an optional operand that is left out is empty
  std::size_t outputs = 1;                   ///< how many the node names, trailing ones left out not counted

  bool has(std::size_t index) const { return index < inputs.size() && inputs[index].has_value(); }
  /// The operand; throws InputError if it is missing.
  const Array& input(std::size_t index) const;
};

/// As many results as the operator has, up to HostCall::outputs at least. Throws InputError on operands that do not fit.
using HostFunction = std::vector<Array> (*)(const HostCall&);

/// The function for an operator of ONNX's own domain ("" is ai.onnx); null if there is none.
HostFunction find_host_function(std::string_view domain, std::string_view op_type);
/// Every (op_type) of the default domain that there is a function for, sorted.
std::vector<std::string_view> host_functions();

}  // namespace taso::runtime
