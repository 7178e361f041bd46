// Types and shapes of operators with one result element per element, and of those that keep the shape of their operand.
#include "runtime/host/inference/rules.h"

namespace taso::runtime::inference {
namespace {

void same(Inference& node) { node.set_like(0, 0); }

void identity(Inference& node) {
  if (node.has(0) && node.result(0) != nullptr) *node.result(0) = *node.call.inputs[0];
}

void boolean_same(Inference& node) {
  node.set_like(0, 0);
  node.set_type(0, ElementType::boolean);
}

std::optional<PartialShape> broadcast_all(const Inference& node) {
  PartialShape result;
  for (std::size_t i = 0; i < node.call.inputs.size(); ++i) {
    const Shape* const shape = node.shape(i);
    if (shape == nullptr) return std::nullopt;
    auto both = broadcast_shapes(result, partial(*shape));
    if (!both) return std::nullopt;
    result = *std::move(both);
  }
  return result;
}

void broadcasting(Inference& node) {
  node.set_type(0, node.type(0));
  node.set_shape(0, broadcast_all(node));
}

void comparison(Inference& node) {
  node.set_type(0, ElementType::boolean);
  node.set_shape(0, broadcast_all(node));
}

void where(Inference& node) {
  node.set_type(0, node.type(1) != ElementType::undefined ? node.type(1) : node.type(2));
  node.set_shape(0, broadcast_all(node));
}

void cast(Inference& node) {
  node.set_like(0, 0);
  node.set_type(0, node.type_attribute("to", ElementType::undefined));
}

void cast_like(Inference& node) {
  node.set_like(0, 0);
  node.set_type(0, node.type(1));
}

void dropout(Inference& node) {
  node.set_like(0, 0);
  node.set_like(1, 0);
  if (node.call.opset >= 10) node.set_type(1, ElementType::boolean);
}

void random_like(Inference& node) {
  node.set_like(0, 0);
  node.set_type(0, node.type_attribute("dtype", node.type(0)));
}

void eye_like(Inference& node) {
  node.set_like(0, 0);
  node.set_type(0, node.type_attribute("dtype", node.type(0)));
}

void batch_normalization(Inference& node) {
  node.set_like(0, 0);
  if (node.call.opset < 14) return;
  node.set_like(1, 3);  // the running mean and variance
  node.set_like(2, 4);
}

void layer_normalization(Inference& node) {
  node.set_like(0, 0);
  // The mean and the inverse deviation: one per position before the axis.
  std::optional<Shape> reduced;
  if (const Shape* shape = node.shape(0))
    if (const auto axis = axis_of(node.integer("axis", -1), shape->size())) {
      reduced = *shape;
      std::fill(reduced->begin() + static_cast<std::ptrdiff_t>(*axis), reduced->end(), Dim(1));
    }
  const ElementType stash = node.type_attribute("stash_type", ElementType::float32);
  node.set(1, stash, reduced);
  node.set(2, stash, reduced);
}

void quantize_linear(Inference& node) {
  node.set_like(0, 0);
  node.set_type(0, node.has(2) ? node.type(2) : node.type_attribute("output_dtype", ElementType::uint8));
}

void dequantize_linear(Inference& node) {
  node.set_like(0, 0);
  node.set_type(0, node.type_attribute("output_dtype", node.type(1)));
}

void dynamic_quantize_linear(Inference& node) {
  node.set_like(0, 0);
  node.set_type(0, ElementType::uint8);
  node.set(1, ElementType::float32, Shape{});
  node.set(2, ElementType::uint8, Shape{});
}

}  // namespace

Rules elementwise_rules() {
  static constexpr std::pair<std::string_view, Rule> rules[] = {
      {"Abs", same},
      {"Acos", same},
      {"Acosh", same},
      {"Add", broadcasting},
      {"And", comparison},
      {"Asin", same},
      {"Asinh", same},
      {"Atan", same},
      {"Atanh", same},
      {"BatchNormalization", batch_normalization},
      {"Bernoulli", random_like},
      {"BitCast", cast},
      {"BitShift", broadcasting},
      {"BitwiseAnd", broadcasting},
      {"BitwiseNot", same},
      {"BitwiseOr", broadcasting},
      {"BitwiseXor", broadcasting},
      {"Cast", cast},
      {"CastLike", cast_like},
      {"Ceil", same},
      {"Celu", same},
      {"Clip", same},
      {"Cos", same},
      {"Cosh", same},
      {"CumProd", same},
      {"CumSum", same},
      {"DequantizeLinear", dequantize_linear},
      {"Div", broadcasting},
      {"Dropout", dropout},
      {"DynamicQuantizeLinear", dynamic_quantize_linear},
      {"Elu", same},
      {"Equal", comparison},
      {"Erf", same},
      {"Exp", same},
      {"EyeLike", eye_like},
      {"Floor", same},
      {"Gelu", same},
      {"Greater", comparison},
      {"GreaterOrEqual", comparison},
      {"GroupNormalization", same},
      {"HardSigmoid", same},
      {"HardSwish", same},
      {"Hardmax", same},
      {"Identity", identity},
      {"InstanceNormalization", same},
      {"IsInf", boolean_same},
      {"IsNaN", boolean_same},
      {"LRN", same},
      {"LayerNormalization", layer_normalization},
      {"LeakyRelu", same},
      {"Less", comparison},
      {"LessOrEqual", comparison},
      {"Log", same},
      {"LogSoftmax", same},
      {"LpNormalization", same},
      {"Max", broadcasting},
      {"Mean", broadcasting},
      {"MeanVarianceNormalization", same},
      {"Min", broadcasting},
      {"Mish", same},
      {"Mod", broadcasting},
      {"Mul", broadcasting},
      {"Neg", same},
      {"Not", boolean_same},
      {"Or", comparison},
      {"PRelu", same},
      {"Pow", broadcasting},
      {"QuantizeLinear", quantize_linear},
      {"RMSNormalization", same},
      {"RandomNormalLike", random_like},
      {"RandomUniformLike", random_like},
      {"Reciprocal", same},
      {"Relu", same},
      {"ReverseSequence", same},
      {"RotaryEmbedding", same},
      {"Round", same},
      {"Scatter", same},
      {"ScatterElements", same},
      {"ScatterND", same},
      {"Selu", same},
      {"Shrink", same},
      {"Sigmoid", same},
      {"Sign", same},
      {"Sin", same},
      {"Sinh", same},
      {"Softmax", same},
      {"Softplus", same},
      {"Softsign", same},
      {"Sqrt", same},
      {"Sub", broadcasting},
      {"Sum", broadcasting},
      {"Swish", same},
      {"Tan", same},
      {"Tanh", same},
      {"TensorScatter", same},
      {"ThresholdedRelu", same},
      {"Trilu", same},
      {"Where", where},
      {"Xor", comparison},
  };
  return rules;
}

}  // namespace taso::runtime::inference
