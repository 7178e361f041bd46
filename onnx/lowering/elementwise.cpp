#include <algorithm>
#include <cmath>

#include "onnx/lowering/lowering.h"

namespace taso::onnx::lowering {
namespace {

bool arithmetic(ElementType type) { return is_floating(type) || is_integer(type); }

template <class Op>
Lowered binary(const LoweringCall& call) {
  if (!call.has(0) || !call.has(1) || !arithmetic(call.element(0))) return std::nullopt;
  return one(call.apply(Op{}, {call.inputs[0], call.inputs[1]}));
}

Lowered power(const LoweringCall& call) {
  return call.has(0) && is_floating(call.element(0)) ? binary<op::Pow>(call) : std::nullopt;
}

/// Whether `factor` is a single number that broadcasts to the whole of another tensor.
bool is_number_for(const Value& factor, const Value& whole) {
  const Shape &one = factor.shape(), &all = whole.shape();
  return one.size() <= all.size() && one != all &&
         std::all_of(one.begin(), one.end(), [](Dim dim) { return dim == Dim(1); });
}

/// A product with a single number becomes ScalarMul, whose rules need not ask what it broadcasts to. Not in float16:
/// there, attention is scaled before its product so that sums stay below 65,504.
Lowered mul(const LoweringCall& call) {
  if (!call.has(0) || !call.has(1) || !arithmetic(call.element(0))) return std::nullopt;
  const Value &first = call.inputs[0], &second = call.inputs[1];
  if (call.element(0) == ElementType::float16) return binary<op::Mul>(call);
  if (is_number_for(second, first)) return one(call.apply(op::ScalarMul{}, {first, second}));
  if (is_number_for(first, second)) return one(call.apply(op::ScalarMul{}, {second, first}));
  return one(call.apply(op::Mul{}, {first, second}));
}

/// Sum, Max and Min take any number of operands; our operators take two.
template <class Op>
Lowered variadic(const LoweringCall& call) {
  if (!call.has(0) || !arithmetic(call.element(0))) return std::nullopt;
  Value result = call.inputs[0];
  for (std::size_t i = 1; i < call.inputs.size(); ++i) {
    if (!call.has(i)) return std::nullopt;
    result = call.apply(Op{}, {result, call.inputs[i]});
  }
  return one(result);
}

template <class Op>
Lowered unary(const LoweringCall& call) {
  if (!call.has(0) || !is_floating(call.element(0))) return std::nullopt;
  return one(call.apply(Op{}, {call.inputs[0]}));
}

Lowered relu(const LoweringCall& call) {
  if (!call.has(0) || !arithmetic(call.element(0))) return std::nullopt;
  return one(call.apply(op::Relu{}, {call.inputs[0]}));
}

Lowered leaky_relu(const LoweringCall& call) {
  if (!call.has(0) || !is_floating(call.element(0))) return std::nullopt;
  return one(call.apply(op::LeakyRelu{.alpha = call.attributes.number("alpha", static_cast<double>(0.01F))},
                        {call.inputs[0]}));
}

Lowered reciprocal(const LoweringCall& call) {
  if (!call.has(0) || !is_floating(call.element(0))) return std::nullopt;
  return one(call.apply(op::Div{}, {call.scalar(1, call.element(0)), call.inputs[0]}));
}

/// max(x, 0) + slope · min(x, 0), which is the same if all slopes are finite.
Lowered prelu(const LoweringCall& call) {
  if (!call.has(0) || !call.has(1) || !is_floating(call.element(0))) return std::nullopt;
  if (call.facts[1] == nullptr || !call.facts[1]->constant) return std::nullopt;
  const std::vector<double> slopes = call.facts[1]->constant->doubles();
  if (!std::all_of(slopes.begin(), slopes.end(), [](double slope) { return std::isfinite(slope); }))
    return std::nullopt;
  if (broadcast(call.shape(0), call.shape(1)) != call.shape(0)) return std::nullopt;
  const Value below = call.apply(op::Min{}, {call.inputs[0], call.scalar(0, call.element(0))});
  return one(call.apply(op::Add{},
                        {call.apply(op::Relu{}, {call.inputs[0]}), call.apply(op::Mul{}, {below, call.inputs[1]})}));
}

/// Bounds are attributes before opset 11 and operands from then on; ours are attributes.
Lowered clip(const LoweringCall& call) {
  // Bounds of 64-bit integers need not fit into a double, so only floating values are covered.
  if (!call.has(0) || !is_floating(call.element(0))) return std::nullopt;
  op::Clip clip;
  if (call.opset < 11) {
    clip.low = call.attributes.number("min", clip.low);
    clip.high = call.attributes.number("max", clip.high);
  } else {
    for (const std::size_t i : {1U, 2U}) {
      if (!call.has(i)) continue;
      const auto bound = call.number(i);
      if (!bound) return std::nullopt;
      (i == 1 ? clip.low : clip.high) = *bound;
    }
  }
  if (!(clip.low <= clip.high)) return std::nullopt;
  return one(call.apply(clip, {call.inputs[0]}));
}

Lowered gelu(const LoweringCall& call) {
  if (!call.has(0) || !is_floating(call.element(0))) return std::nullopt;
  const std::string approximate = call.attributes.text("approximate", "none");
  if (approximate != "none" && approximate != "tanh") return std::nullopt;
  return one(call.apply(op::Gelu{.tanh = approximate == "tanh"}, {call.inputs[0]}));
}

/// At inference a dropout is the identity. A mask, if used, is not modelled.
Lowered dropout(const LoweringCall& call) {
  if (!call.has(0) || call.outputs > 1) return std::nullopt;
  if (call.opset >= 12 && call.has(2)) {
    const auto training = call.number(2);
    if (!training || *training != 0) return std::nullopt;
  }
  return one(call.inputs[0]);
}

Lowered cast(const LoweringCall& call) {
  // Covers only a cast to the same type. The numbers are those of ONNX's TensorProto.DataType.
  static constexpr std::pair<std::int64_t, ElementType> types[] = {
      {1, ElementType::float32},  {2, ElementType::uint8},    {3, ElementType::int8},    {4, ElementType::uint16},
      {5, ElementType::int16},    {6, ElementType::int32},    {7, ElementType::int64},   {9, ElementType::boolean},
      {10, ElementType::float16}, {11, ElementType::float64}, {12, ElementType::uint32}, {13, ElementType::uint64},
      {16, ElementType::bfloat16}};
  if (!call.has(0)) return std::nullopt;
  const std::int64_t to = call.attributes.integer("to", 0);
  for (const auto& [number, type] : types)
    if (number == to && type == call.element(0)) return one(call.inputs[0]);
  return std::nullopt;
}

constexpr std::pair<std::string_view, LowerFunction> table[] = {
    {"Add", binary<op::Add>},
    {"Sub", binary<op::Sub>},
    {"Mul", mul},
    {"Div", binary<op::Div>},
    {"Pow", power},
    {"Sum", variadic<op::Add>},
    {"Max", variadic<op::Max>},
    {"Min", variadic<op::Min>},
    {"Sqrt", unary<op::Sqrt>},
    {"Exp", unary<op::Exp>},
    {"Erf", unary<op::Erf>},
    {"Relu", relu},
    {"LeakyRelu", leaky_relu},
    {"Sigmoid", unary<op::Sigmoid>},
    {"Tanh", unary<op::Tanh>},
    {"PRelu", prelu},
    {"Reciprocal", reciprocal},
    {"Clip", clip},
    {"Gelu", gelu},
    {"HardSwish", unary<op::HardSwish>},
    {"Dropout", dropout},
    {"Cast", cast},
};

}  // namespace

Family elementwise() { return table; }

}  // namespace taso::onnx::lowering
