#include <algorithm>
#include <set>

#include "onnx/lowering/lowering.h"

namespace taso::onnx::lowering {
namespace {

double default_epsilon(const LoweringCall& call) {
  return call.attributes.number("epsilon", static_cast<double>(1e-5F));
}

Lowered batch_norm(const LoweringCall& call) {
  if (call.inputs.size() != 5 || call.outputs > 1 || !call.has(0) || !is_floating(call.element(0))) return std::nullopt;
  if (call.opset >= 14 && call.attributes.integer("training_mode", 0) != 0) return std::nullopt;
  if (call.opset < 9 && call.attributes.integer("spatial", 1) != 1) return std::nullopt;
  for (std::size_t i = 0; i < 5; ++i)
    if (!call.has(i)) return std::nullopt;
  return one(call.apply(op::BatchNorm{.epsilon = default_epsilon(call)},
                        {call.inputs[0], call.inputs[1], call.inputs[2], call.inputs[3], call.inputs[4]}));
}

Lowered layer_norm(const LoweringCall& call) {
  if (!call.has(0) || !call.has(1) || call.outputs > 1 || !is_floating(call.element(0))) return std::nullopt;
  const op::LayerNorm norm{.axis = LoweringCall::axis(call.attributes.integer("axis", -1), call.rank(0)),
                           .epsilon = default_epsilon(call)};
  if (call.has(2)) return one(call.apply(norm, {call.inputs[0], call.inputs[1], call.inputs[2]}));
  return one(call.apply(norm, {call.inputs[0], call.inputs[1]}));
}

Lowered local_response_norm(const LoweringCall& call) {
  if (call.inputs.size() != 1 || !call.has(0) || call.rank(0) < 2 || !is_floating(call.element(0))) return std::nullopt;
  const op::LocalResponseNorm norm{.size = call.attributes.integer("size", 0),
                                   .alpha = call.attributes.number("alpha", static_cast<double>(1e-4F)),
                                   .beta = call.attributes.number("beta", 0.75),
                                   .bias = call.attributes.number("bias", 1)};
  const Shape shape = call.shape(0);
  if (shape.size() > 2) return one(call.apply(norm, {call.inputs[0]}));
  const Value places = call.reshape(call.inputs[0], {shape[0], shape[1], 1});
  return one(call.reshape(call.apply(norm, {places}), shape));
}

Lowered softmax(const LoweringCall& call) {
  if (!call.has(0) || !is_floating(call.element(0)) || call.rank(0) == 0) return std::nullopt;
  const Shape shape = call.shape(0);
  const std::int64_t axis = LoweringCall::axis(call.attributes.integer("axis", call.opset < 13 ? 1 : -1), shape.size());
  if (call.opset >= 13 || axis + 1 == static_cast<std::int64_t>(shape.size()))
    return one(call.apply(op::Softmax{.axis = axis}, {call.inputs[0]}));
  // Before opset 13 a softmax runs over all axes from its axis on.
  const Value flat = call.reshape(call.inputs[0], {count(Shape(shape.begin(), shape.begin() + axis)),
                                                   count(Shape(shape.begin() + axis, shape.end()))});
  return one(call.reshape(call.apply(op::Softmax{.axis = 1}, {flat}), shape));
}

template <class Op>
Lowered reduce(const LoweringCall& call) {
  if (!call.has(0) || call.element(0) == ElementType::boolean) return std::nullopt;
  if (std::is_same_v<Op, op::ReduceMean> && !is_floating(call.element(0))) return std::nullopt;
  const std::int64_t keeps = call.attributes.integer("keepdims", 1);
  if (keeps != 0 && keeps != 1) return std::nullopt;  // runtimes disagree on its meaning
  // ReduceSum takes its axes as an operand from opset 13 on, the others from 18 on.
  const bool as_operand = call.opset >= (std::is_same_v<Op, op::ReduceSum> ? 13 : 18);
  std::vector<std::int64_t> listed;
  if (!as_operand) {
    listed = call.attributes.integers("axes");
  } else if (call.has(1)) {
    const auto known = call.integers(1);
    if (!known) return std::nullopt;
    listed = *known;
  }
  if (listed.empty() && as_operand && call.attributes.integer("noop_with_empty_axes", 0) != 0)
    return one(call.inputs[0]);
  std::set<std::int64_t> axes;
  for (const std::int64_t axis : listed) axes.insert(LoweringCall::axis(axis, call.rank(0)));
  if (listed.empty())
    for (std::size_t i = 0; i < call.rank(0); ++i) axes.insert(static_cast<std::int64_t>(i));
  if (axes.empty()) return one(call.inputs[0]);
  Op op;
  op.axes.assign(axes.begin(), axes.end());
  op.keep = keeps == 1;
  return one(call.apply(op, {call.inputs[0]}));
}

}  // namespace

Family normalisation() {
  static constexpr std::pair<std::string_view, LowerFunction> table[] = {
      {"BatchNormalization", batch_norm},  {"LayerNormalization", layer_norm},   {"Softmax", softmax},
      {"LRN", local_response_norm},        {"ReduceSum", reduce<op::ReduceSum>}, {"ReduceMean", reduce<op::ReduceMean>},
      {"ReduceMax", reduce<op::ReduceMax>}};
  return table;
}

}  // namespace taso::onnx::lowering
