#include "onnx/lowering/lowering.h"

#include <unordered_map>

#include <fmt/format.h>

namespace taso::onnx {
namespace {

class ScalarWeight final : public Weight {
 public:
  ScalarWeight(double value, ElementType type) : array_(Array::scalar(value).cast(type)) {}
  Array load() const override { return array_; }

 private:
  Array array_;
};

LowerFunction find_lowering(std::string_view op_type) {
  static const auto table = [] {
    std::unordered_map<std::string_view, LowerFunction> all;
    for (const lowering::Family family :
         {lowering::elementwise(), lowering::linear(), lowering::pooling(), lowering::geometry(),
          lowering::normalisation(), lowering::resizing(), lowering::attentions()})
      for (const auto& [name, function] : family)
        check(all.emplace(name, function).second, "each operator has one lowering");
    return all;
  }();
  const auto found = table.find(op_type);
  return found == table.end() ? nullptr : found->second;
}

Lowered lower_by(LowerFunction function, const LoweringCall& call) {
  const bool copies = call.op_type == "Dropout";
  for (const Value& value : call.inputs)
    if (value && !copies && (value.type().element == ElementType::undefined || !value.type().shape))
      return std::nullopt;
  try {
    Lowered values = function(call);
    if (values && values->size() < call.outputs) return std::nullopt;  // a node with more results than its operator has
    return values;
  } catch (const InputError&) {
    return std::nullopt;  // does not fit, or not for every value of the unknowns: left opaque
  }
}

}  // namespace

std::optional<std::vector<Dim>> LoweringCall::dims(std::size_t index) const {
  if (!has(index) || facts[index] == nullptr) return std::nullopt;
  const runtime::Fact& fact = *facts[index];
  if (fact.content) return fact.content;
  if (fact.constant && is_integer(fact.constant->type()) && fact.constant->rank() <= 1) {
    const auto values = fact.constant->integers();
    return std::vector<Dim>(values.begin(), values.end());
  }
  return std::nullopt;
}

std::optional<std::vector<std::int64_t>> LoweringCall::integers(std::size_t index) const {
  const auto content = dims(index);
  return content ? static_extents(*content) : std::nullopt;
}

std::optional<double> LoweringCall::number(std::size_t index) const {
  if (!has(index) || facts[index] == nullptr || !facts[index]->constant || facts[index]->constant->size() != 1)
    return std::nullopt;
  return facts[index]->constant->doubles().front();
}

std::int64_t LoweringCall::axis(std::int64_t axis, std::size_t rank) {
  const auto size = static_cast<std::int64_t>(rank);
  if (axis < -size || axis >= size) throw ShapeError(fmt::format("axis {} of rank {}", axis, rank));
  return axis < 0 ? axis + size : axis;
}

Value LoweringCall::scalar(double value, ElementType type) const {
  return pool.constant(fmt::format("{}({})", name_of(type), value), Type{type, Shape{}},
                       std::make_shared<ScalarWeight>(value, type));
}

Value LoweringCall::reshape(const Value& value, const Shape& shape) const {
  return value.shape() == shape ? value : apply(op::Reshape{.shape = shape}, {value});
}

bool is_lowered(std::string_view op_type) { return op_type == "Identity" || find_lowering(op_type) != nullptr; }

namespace {

LowerFunction find_onnxruntime(std::string_view op_type) {
  for (const auto& [name, function] : lowering::onnxruntime())
    if (name == op_type) return function;
  return nullptr;
}

}  // namespace

bool is_lowered_onnxruntime(std::string_view op_type) { return find_onnxruntime(op_type) != nullptr; }

Lowered lower_onnxruntime(const LoweringCall& call) {
  const LowerFunction function = find_onnxruntime(call.op_type);
  return function == nullptr ? std::nullopt : lower_by(function, call);
}

Lowered lower(const LoweringCall& call) {
  // The identity of any value, at any opset, is the value itself, even if we do not model its type.
  if (call.op_type == "Identity" && call.opset > 0 && call.outputs <= 1 && call.inputs.size() == 1 && call.has(0))
    return lowering::one(call.inputs[0]);
  const LowerFunction function = call.opset >= 7 ? find_lowering(call.op_type) : nullptr;
  return function == nullptr ? std::nullopt : lower_by(function, call);
}

}  // namespace taso::onnx
