#include <algorithm>
#include <cmath>
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

/// The kernel of a convolution; nothing if it is unknown, or kernel_shape is another one.
std::optional<std::vector<std::int64_t>> kernel_of(const LoweringCall& call) {
  if (!call.has(0) || !call.has(1) || call.rank(0) < 3 || call.rank(0) != call.rank(1)) return std::nullopt;
  if (!is_floating(call.element(0))) return std::nullopt;
  const Shape& weight = call.shape(1);
  const auto kernel = static_extents(Shape(weight.begin() + 2, weight.end()));
  if (!kernel || call.attributes.integers("kernel_shape", *kernel) != *kernel) return std::nullopt;
  return kernel;
}

Lowered conv(const LoweringCall& call) {
  const auto kernel = kernel_of(call);
  const auto windows = kernel ? read_windows(call, *kernel) : std::nullopt;
  if (!windows) return std::nullopt;
  const op::Conv conv{.strides = windows->strides,
                      .dilations = windows->dilations,
                      .pads = windows->pads,
                      .groups = call.attributes.integer("group", 1)};
  if (call.has(2)) return one(call.apply(conv, {call.inputs[0], call.inputs[1], call.inputs[2]}));
  return one(call.apply(conv, {call.inputs[0], call.inputs[1]}));
}

/// Sets the pads along an axis of a transposed convolution whose result would be too large by `excess` without them. If
/// it would be too small, it is padded.
void pad_to(op::ConvTranspose& conv, std::size_t axis, std::int64_t excess, bool is_upper) {
  const std::int64_t total = std::max<std::int64_t>(0, excess), lesser = total / 2;
  // The extra cell of an odd total goes to the end with SAME_UPPER, to the start otherwise.
  conv.pads[axis] = is_upper ? lesser : total - lesser;
  conv.pads[conv.strides.size() + axis] = total - conv.pads[axis];
  conv.output_padding[axis] += std::max<std::int64_t>(0, -excess);
}

Lowered conv_transpose(const LoweringCall& call) {
  const auto kernel = kernel_of(call);
  const auto windows = kernel ? read_steps(call, *kernel) : std::nullopt;
  if (!windows) return std::nullopt;
  const std::size_t rank = kernel->size();
  op::ConvTranspose conv{
      .strides = windows->strides,
      .dilations = windows->dilations,
      .pads = windows->pads,
      .output_padding = call.attributes.integers("output_padding", std::vector<std::int64_t>(rank, 0)),
      .groups = call.attributes.integer("group", 1)};
  std::vector<std::int64_t> wanted = call.attributes.integers("output_shape");
  if (wanted.size() == rank + 2) wanted.erase(wanted.begin(), wanted.begin() + 2);
  if (conv.output_padding.size() != rank || (!wanted.empty() && wanted.size() != rank)) return std::nullopt;
  const auto small = [](std::int64_t value) { return value >= 0 && value <= op::greatest_attribute; };
  if (!std::all_of(wanted.begin(), wanted.end(), small) ||
      !std::all_of(conv.output_padding.begin(), conv.output_padding.end(), small))
    return std::nullopt;

  const std::string mode = call.attributes.text("auto_pad", "NOTSET");
  const bool same = mode == "SAME_UPPER" || mode == "SAME_LOWER";
  if (!same && mode != "NOTSET" && mode != "VALID") return std::nullopt;
  if (mode == "VALID") conv.pads.assign(2 * rank, 0);
  if (same || !wanted.empty())
    for (std::size_t i = 0; i < rank; ++i) {
      // Wanted is one stride for each place of the input, unless output_shape says otherwise.
      std::int64_t excess = ((*kernel)[i] - 1) * conv.dilations[i] + 1 + conv.output_padding[i] - conv.strides[i];
      if (!wanted.empty()) {
        const auto size = call.shape(0)[2 + i].known();
        if (!size || *size > op::greatest_attribute) return std::nullopt;
        excess += *size * conv.strides[i] - wanted[i];
      }
      pad_to(conv, i, excess, mode == "SAME_UPPER");
    }
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

/// The terms of an equation such as "bij,bjk->bik". Empty if a letter occurs twice in a term, or anything else but
/// letters occurs, or the result is not given.
std::vector<std::string> terms_of(std::string_view equation) {
  std::vector<std::string> terms(1);
  for (std::size_t i = 0; i < equation.size(); ++i) {
    const char c = equation[i];
    if (c == ' ') continue;
    const bool is_arrow = c == '-' && i + 1 < equation.size() && equation[i + 1] == '>';
    if (is_arrow) ++i;
    if (c == ',' || is_arrow)
      terms.emplace_back();
    else if (((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) && terms.back().find(c) == std::string::npos)
      terms.back() += c;
    else
      return {};
  }
  return equation.find("->") == std::string_view::npos ? std::vector<std::string>() : terms;
}

Value with_axes(const LoweringCall& call, const Value& value, const std::string& letters, const std::string& wanted) {
  if (letters == wanted) return value;
  op::Transpose transpose;
  for (const char c : wanted) transpose.permutation.push_back(static_cast<std::int64_t>(letters.find(c)));
  return call.apply(transpose, {value});
}

/// A product of two operands whose letters are each summed or kept: a matmul between transposes and reshapes.
Lowered einsum(const LoweringCall& call) {
  const std::vector<std::string> terms = terms_of(call.attributes.text("equation", ""));
  if (terms.size() != 3 || !call.has(0) || !call.has(1) || call.inputs.size() != 2) return std::nullopt;
  if (call.element(0) == ElementType::boolean) return std::nullopt;
  const std::string &a = terms[0], &b = terms[1], &result = terms[2];
  if (a.size() != call.rank(0) || b.size() != call.rank(1)) return std::nullopt;
  std::string batch, rows, columns, summed;
  for (const char c : a) {
    const bool is_shared = b.find(c) != std::string::npos, is_kept = result.find(c) != std::string::npos;
    if (!is_shared && !is_kept) return std::nullopt;
    (is_shared ? is_kept ? batch : summed : rows) += c;
    if (is_shared && call.shape(0)[a.find(c)] != call.shape(1)[b.find(c)]) return std::nullopt;
  }
  for (const char c : b)
    if (a.find(c) == std::string::npos) columns += c;
  const std::string made = batch + rows + columns;
  if (made.size() != result.size()) return std::nullopt;
  for (const char c : result)
    if (made.find(c) == std::string::npos) return std::nullopt;
  const auto dim = [&](char c) {
    return a.find(c) != std::string::npos ? call.shape(0)[a.find(c)] : call.shape(1)[b.find(c)];
  };
  const auto merged = [&](std::initializer_list<std::string_view> parts) {
    Shape shape;
    for (const char c : batch) shape.push_back(dim(c));
    for (const std::string_view part : parts) {
      Dim extent = 1;
      for (const char c : part) extent = extent * dim(c);
      shape.push_back(extent);
    }
    return shape;
  };
  const Value left = with_axes(call, call.inputs[0], a, batch + rows + summed);
  const Value right = with_axes(call, call.inputs[1], b, batch + summed + columns);
  const Value product = call.apply(
      op::MatMul{}, {call.reshape(left, merged({rows, summed})), call.reshape(right, merged({summed, columns}))});
  Shape shape;
  for (const char c : made) shape.push_back(dim(c));
  return one(with_axes(call, call.reshape(product, shape), made, result));
}

}  // namespace

Family linear() {
  static constexpr std::pair<std::string_view, LowerFunction> table[] = {
      {"MatMul", matmul},       {"Gemm", gemm},    {"Conv", conv}, {"ConvTranspose", conv_transpose},
      {"Transpose", transpose}, {"Einsum", einsum}};
  return table;
}

}  // namespace taso::onnx::lowering
