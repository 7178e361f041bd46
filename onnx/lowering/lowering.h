// Lowers ONNX nodes to our operators, given what is known about their operands.
#pragma once

#include "ops/graph/graph.h"
#include "runtime/host/inference/inference.h"

namespace taso::onnx {

/// A node to be lowered.
struct LoweringCall {
  Pool& pool;
  std::string_view op_type;
  std::int64_t opset = 0;
  const runtime::Attributes& attributes;
  std::vector<Value> inputs;                ///< null where an optional operand is omitted
  std::vector<const runtime::Fact*> facts;  ///< what is known about each operand; null likewise
  std::size_t outputs = 1;

  bool has(std::size_t index) const { return index < inputs.size() && inputs[index]; }
  const Shape& shape(std::size_t index) const { return inputs.at(index).shape(); }
  std::size_t rank(std::size_t index) const { return shape(index).size(); }
  ElementType element(std::size_t index) const { return inputs.at(index).type().element; }
  /// The elements of a small integer operand, which may contain unknowns; nothing if they are not known.
  std::optional<std::vector<Dim>> dims(std::size_t index) const;
  std::optional<std::vector<std::int64_t>> integers(std::size_t index) const;
  /// The value of a constant operand with one element.
  std::optional<double> number(std::size_t index) const;
  /// The axis counted from the front; throws ShapeError if it is out of range.
  static std::int64_t axis(std::int64_t axis, std::size_t rank);
  /// A constant with one element and rank 0.
  Value scalar(double value, ElementType type) const;

  Value apply(const Operator& op, std::initializer_list<Value> operands) const { return pool.apply(op, operands); }
  /// Reshapes a value, unless it has that shape already.
  Value reshape(const Value& value, const Shape& shape) const;
};

/// The values of the node's outputs; nothing if our operators do not cover it.
using Lowered = std::optional<std::vector<Value>>;
using LowerFunction = Lowered (*)(const LoweringCall&);

/// Lowers a node of ONNX's default domain if our operators cover it. Opsets before 7 are not covered.
Lowered lower(const LoweringCall& call);
/// The same for an operator that only ONNX Runtime has.
Lowered lower_onnxruntime(const LoweringCall& call);
/// Whether nodes of that type can be lowered, at least some of them.
bool is_lowered(std::string_view op_type);
bool is_lowered_onnxruntime(std::string_view op_type);

namespace lowering {

inline Lowered one(const Value& value) { return std::vector<Value>{value}; }

using Family = std::span<const std::pair<std::string_view, LowerFunction>>;
Family elementwise();
Family linear();
Family pooling();
Family geometry();
Family normalisation();
Family resizing();
Family attentions();
Family onnxruntime();  // of ONNX Runtime's domain

}  // namespace lowering
}  // namespace taso::onnx
