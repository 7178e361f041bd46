#include <numeric>

#include "onnx/lowering/lowering.h"
#include "onnx/lowering/windows.h"

namespace taso::onnx::lowering {
namespace {

Value transposed(const LoweringCall& call, const Value& matrix) {
  return call.apply(op::Transpose{.permutation = {1, 0}}, {matrix});
}

/// ONNX's operands may be vectors: a row on the left, a column on the right.
Lowered matmul(const LoweringCall& call) {
  if (!call.has(0) || !call.has(1)) return std::nullopt;
  const bool row = call.rank(0) == 1, column = call.rank(1) == 1;
  if (call.rank(0) == 0 || call.rank(1) == 0 || call.element(0) == ElementType::boolean) return std::nullopt;
  const Value left = row ? call.reshape(call.inputs[0], {1, call.shape(0)[0]}) : call.inputs[0];
  const Value right = column ? call.reshape(call.inputs[1], {call.shape(1)[0], 1}) : call.inputs[1];
  const Value product = call.apply(op::MatMul{}, {left, right});
  if (!row && !column) return one(product);
  Shape shape = product.shape();
  if (column) shape.pop_back();
  if (row) shape.erase(shape.end() - (column ? 1 : 2));
  return one(call.reshape(product, shape));
}

/// alpha · op(A) · op(B) + beta · C
Lowered gemm(const LoweringCall& call) {
  if (!call.has(0) || !call.has(1) || call.rank(0) != 2 || call.rank(1) != 2) return std::nullopt;
  const ElementType element = call.element(0);
  const double alpha = call.attributes.number("alpha", 1), beta = call.attributes.number("beta", 1);
  // Fractions of integers are rounded differently by our operators.
  if (!is_floating(element) && (alpha != 1 || beta != 1)) return std::nullopt;
  const Value a = call.attributes.integer("transA", 0) ? transposed(call, call.inputs[0]) : call.inputs[0];
  const Value b = call.attributes.integer("transB", 0) ? transposed(call, call.inputs[1]) : call.inputs[1];
  Value result = call.apply(op::MatMul{}, {a, b});
  if (alpha != 1) result = call.apply(op::ScalarMul{}, {result, call.scalar(alpha, element)});
  if (call.has(2) && beta != 0) {
    Value c = call.inputs[2];
    if (beta != 1) c = call.apply(op::ScalarMul{}, {c, call.scalar(beta, element)});
    const Shape shape = result.shape();
    result = call.apply(op::Add{}, {result, c});
    if (result.shape() != shape) return std::nullopt;  // C broadcasts to the product, never the other way round
  }
  return one(result);
}

Lowered conv(const LoweringCall& call) {
  if (!call.has(0) || !call.has(1) || call.rank(0) < 3 || call.rank(0) != call.rank(1)) return std::nullopt;
  if (!is_floating(call.element(0))) return std::nullopt;
  const Shape& weight = call.shape(1);
  const auto kernel = static_extents(Shape(weight.begin() + 2, weight.end()));
  if (!kernel || call.attributes.integers("kernel_shape", *kernel) != *kernel) return std::nullopt;
  const auto windows = read_windows(call, *kernel);
  if (!windows) return std::nullopt;
  const op::Conv conv{.strides = windows->strides,
                      .dilations = windows->dilations,
                      .pads = windows->pads,
                      .groups = call.attributes.integer("group", 1)};
  if (call.has(2)) return one(call.apply(conv, {call.inputs[0], call.inputs[1], call.inputs[2]}));
  return one(call.apply(conv, {call.inputs[0], call.inputs[1]}));
}

Lowered transpose(const LoweringCall& call) {
  if (!call.has(0)) return std::nullopt;
  std::vector<std::int64_t> in_order(call.rank(0));
  std::iota(in_order.begin(), in_order.end(), 0);
  const auto permutation = call.attributes.integers("perm", {in_order.rbegin(), in_order.rend()});
  if (permutation == in_order) return one(call.inputs[0]);
  return one(call.apply(op::Transpose{.permutation = permutation}, {call.inputs[0]}));
}

}  // namespace

Family linear() {
  static constexpr std::pair<std::string_view, LowerFunction> table[] = {
      {"MatMul", matmul}, {"Gemm", gemm}, {"Conv", conv}, {"Transpose", transpose}};
  return table;
}

}  // namespace taso::onnx::lowering
