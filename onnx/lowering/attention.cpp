// Attention as one node: ONNX's own, and that of ONNX Runtime.
#include <cmath>

#include "onnx/lowering/lowering.h"

namespace taso::onnx::lowering {
namespace {

/// A tensor [batch, length, heads * size] as [batch, heads, length, size].
Value with_heads(const LoweringCall& call, const Value& packed, std::int64_t heads) {
  const Shape shape = packed.shape();
  const Value apart = call.reshape(packed, {shape[0], shape[1], heads, *shape[2].known() / heads});
  return call.apply(op::Transpose{.permutation = {0, 2, 1, 3}}, {apart});
}

/// The reverse.
Value without_heads(const LoweringCall& call, const Value& apart) {
  const Shape shape = apart.shape();
  const Value turned = call.apply(op::Transpose{.permutation = {0, 2, 1, 3}}, {apart});
  return call.reshape(turned, {shape[0], shape[2], shape[1] * shape[3]});
}

/// Whether heads of a packed tensor can be told apart.
bool can_have_heads(const Value& packed, std::int64_t heads) {
  const auto last = packed.shape().back().known();
  return packed.shape().size() == 3 && last && heads > 0 && *last % heads == 0;
}

/// softmax(q kᵀ · scale + mask) v of tensors [batch, heads, length, size]; `mask` may be empty, and a scale of 0 stands
/// for the usual one. Several heads of q may share one of k and v.
std::optional<Value> attended(const LoweringCall& call, const std::vector<Value>& parts, const Value& mask,
                              double scale) {
  const ElementType element = parts[0].type().element;
  const Shape q = parts[0].shape(), k = parts[1].shape(), v = parts[2].shape();
  const auto q_heads = q[1].known(), heads = k[1].known(), size = q[3].known();
  if (!size || !q_heads || !heads || *heads <= 0 || *q_heads % *heads != 0 || v[1] != k[1]) return std::nullopt;
  const Dim shared = *q_heads / *heads * q[2];  // the rows that meet one head of k
  if (scale == 0) scale = 1 / std::sqrt(static_cast<double>(*size));
  const Value turned = call.apply(op::Transpose{.permutation = {0, 1, 3, 2}}, {parts[1]});
  Value scores = call.apply(op::MatMul{}, {call.reshape(parts[0], {q[0], *heads, shared, q[3]}), turned});
  scores = call.apply(op::ScalarMul{}, {scores, call.scalar(scale, element)});
  scores = call.reshape(scores, {q[0], *q_heads, q[2], k[2]});
  if (mask) {
    const Shape before = scores.shape();
    scores = call.apply(op::Add{}, {scores, mask});
    if (scores.shape() != before) return std::nullopt;
  }
  const Value weights = call.apply(op::Softmax{3}, {scores});
  const Value result = call.apply(op::MatMul{}, {call.reshape(weights, {q[0], *heads, shared, k[2]}), parts[2]});
  return call.reshape(result, {q[0], *q_heads, q[2], v[3]});
}

/// ONNX's own, without a past.
Lowered attention(const LoweringCall& call) {
  const auto& attributes = call.attributes;
  if (!call.has(0) || !call.has(1) || !call.has(2) || call.inputs.size() > 4 || call.outputs > 1) return std::nullopt;
  if (attributes.integer("is_causal", 0) != 0 || attributes.number("softcap", 0) != 0) return std::nullopt;
  for (const char* const window : {"left_window_size", "right_window_size"})
    if (attributes.integer(window, -1) >= 0) return std::nullopt;
  const ElementType element = call.element(0);
  const bool is_packed = call.rank(0) == 3;
  if (!is_floating(element) || (call.has(3) && call.element(3) != element)) return std::nullopt;
  std::vector<Value> parts;
  for (std::size_t i = 0; i < 3; ++i) {
    const std::int64_t heads = attributes.integer(i == 0 ? "q_num_heads" : "kv_num_heads", 0);
    if (call.rank(i) != (is_packed ? 3 : 4) || call.element(i) != element) return std::nullopt;
    if (is_packed && !can_have_heads(call.inputs[i], heads)) return std::nullopt;
    parts.push_back(is_packed ? with_heads(call, call.inputs[i], heads) : call.inputs[i]);
  }
  const double scale = attributes.number("scale", 0);
  if (attributes.has("scale") && scale == 0) return std::nullopt;
  const auto result = attended(call, parts, call.has(3) ? call.inputs[3] : Value{}, scale);
  if (!result) return std::nullopt;
  return one(is_packed ? without_heads(call, *result) : *result);
}

/// ONNX Runtime's, of packed queries, without biases, lengths and a past. Keys and values may have their heads apart.
Lowered multi_head_attention(const LoweringCall& call) {
  constexpr std::size_t mask = 5;
  if (!call.has(0) || !call.has(1) || !call.has(2) || call.inputs.size() > mask + 1 || call.outputs > 1 ||
      call.has(3) || call.has(4) || call.attributes.integer("unidirectional", 0) != 0)
    return std::nullopt;
  const ElementType element = call.element(0);
  if (!is_floating(element) || call.rank(0) != 3 || (call.has(mask) && call.element(mask) != element))
    return std::nullopt;
  const std::int64_t heads = call.attributes.integer("num_heads", 0);
  if (!can_have_heads(call.inputs[0], heads)) return std::nullopt;
  std::vector<Value> parts{with_heads(call, call.inputs[0], heads)};
  for (const std::size_t i : {1U, 2U}) {
    if (call.element(i) != element || call.rank(i) != call.rank(1)) return std::nullopt;
    const bool is_apart = call.rank(i) == 4;
    if (!is_apart && !can_have_heads(call.inputs[i], heads)) return std::nullopt;
    parts.push_back(is_apart ? call.inputs[i] : with_heads(call, call.inputs[i], heads));
  }
  const auto result =
      attended(call, parts, call.has(mask) ? call.inputs[mask] : Value{}, call.attributes.number("scale", 0));
  return result ? Lowered(one(without_heads(call, *result))) : std::nullopt;
}

}  // namespace

Family attentions() {
  static constexpr std::pair<std::string_view, LowerFunction> table[] = {{"Attention", attention}};
  return table;
}

Family onnxruntime() {
  static constexpr std::pair<std::string_view, LowerFunction> table[] = {{"MultiHeadAttention", multi_head_attention}};
  return table;
}

}  // namespace taso::onnx::lowering
