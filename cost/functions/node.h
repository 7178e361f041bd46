// An opaque node as the makers of device functions see it.
#pragma once

#include "cost/functions/device_function.h"
#include "ops/graph/plain_function.h"

namespace taso::cost {

struct FunctionNode {
  struct Side {
    ElementType element = ElementType::undefined;  ///< undefined if the operand is omitted or the result is unused
    Extents extents;
  };
  const PlainFunction& node;
  std::vector<Side> operands, results;

  bool has(std::size_t operand) const {
    return operand < operands.size() && operands[operand].element != ElementType::undefined;
  }
  const Extents& extents(std::size_t operand) const { return operands[operand].extents; }
  ElementType element(std::size_t operand) const { return operands[operand].element; }
  std::size_t rank() const { return operands[0].extents.size(); }
  /// The content of a constant operand; null if it is not known.
  const Array* constant(std::size_t operand) const {
    return operand < node.constants.size() && node.constants[operand] ? &*node.constants[operand] : nullptr;
  }
  /// Its integers; nothing if they are not known.
  std::optional<std::vector<std::int64_t>> integers(std::size_t operand) const {
    const Array* const array = constant(operand);
    if (array == nullptr || !is_integer(array->type())) return std::nullopt;
    return array->integers();
  }
  /// An axis counted from the front; nothing if there is none.
  static std::optional<std::size_t> axis_in(std::int64_t axis, std::size_t rank) {
    if (axis < 0) axis += static_cast<std::int64_t>(rank);
    if (axis < 0 || axis >= static_cast<std::int64_t>(rank)) return std::nullopt;
    return static_cast<std::size_t>(axis);
  }
};

inline bool is_index(ElementType element) { return element == ElementType::int32 || element == ElementType::int64; }

// Each returns nothing if it has no kernel for the node.
std::optional<DeviceFunction> element_function(const FunctionNode& node);
std::optional<DeviceFunction> row_function(const FunctionNode& node);
std::optional<DeviceFunction> place_function(const FunctionNode& node);
std::optional<DeviceFunction> quantised_function(const FunctionNode& node);
std::optional<DeviceFunction> window_function(const FunctionNode& node);
std::optional<DeviceFunction> recurrent_function(const FunctionNode& node);
/// Operations per element of the result of a window function.
double operations_of_window(const DeviceFunction& function);

}  // namespace taso::cost
