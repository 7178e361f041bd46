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

/// An operator that says itself which one of ONNX it is.
template <class Op>
Lowered same_function(const LoweringCall& call) {
  if (!call.has(0) || !(Op::onnx.has_integers ? arithmetic : is_floating)(call.element(0))) return std::nullopt;
  if constexpr (Op::max_inputs == 1)
    return one(call.apply(Op{}, {call.inputs[0]}));
  else
    return call.has(1) ? one(call.apply(Op{}, {call.inputs[0], call.inputs[1]})) : std::nullopt;
}

template <std::size_t... Places>
std::vector<std::pair<std::string_view, LowerFunction>> same_functions(std::index_sequence<Places...>) {
  std::vector<std::pair<std::string_view, LowerFunction>> rows;
  const auto add = [&]<class Op>(const Op*) {
    if constexpr (requires { Op::onnx; }) rows.emplace_back(Op::onnx.name, same_function<Op>);
  };
  (add(static_cast<const std::variant_alternative_t<Places, AnyOperator>*>(nullptr)), ...);
  return rows;
}

/// x · sigmoid(alpha x); ours has no other alpha than 1.
Lowered swish(const LoweringCall& call) {
  if (!call.has(0) || !is_floating(call.element(0)) || call.attributes.number("alpha", 1) != 1) return std::nullopt;
  return one(call.apply(op::Silu{}, {call.inputs[0]}));
}

Lowered leaky_relu(const LoweringCall& call) {
  if (!call.has(0) || !is_floating(call.element(0))) return std::nullopt;
  return one(call.apply(op::LeakyRelu{.alpha = call.attributes.number("alpha", static_cast<double>(0.01F))},
                        {call.inputs[0]}));
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

Lowered hard_swish(const LoweringCall& call) {
  if (!call.has(0) || !is_floating(call.element(0))) return std::nullopt;
  return one(call.apply(op::HardSwish{}, {call.inputs[0]}));
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
    {"Mul", mul},
    {"Sum", variadic<op::Add>},
    {"Max", variadic<op::Max>},
    {"Min", variadic<op::Min>},
    {"LeakyRelu", leaky_relu},
    {"PRelu", prelu},
    {"Clip", clip},
    {"Gelu", gelu},
    {"HardSwish", hard_swish},
    {"Swish", swish},
    {"Dropout", dropout},
    {"Cast", cast},
};

}  // namespace

Family elementwise() {
  static const auto all = [] {
    auto rows = same_functions(std::make_index_sequence<std::variant_size_v<AnyOperator>>());
    rows.insert(rows.end(), std::begin(table), std::end(table));
    return rows;
  }();
  return all;
}

}  // namespace taso::onnx::lowering
