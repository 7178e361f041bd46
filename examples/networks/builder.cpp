// The builder's core: names, nodes, parameters, inputs and outputs. The layers are in layers.cpp and movement.cpp.
#include "examples/networks/builder.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "onnx/model/proto.h"
#include "onnx/model/tensor_data.h"
#include "ops/core/error.h"

namespace taso::examples {
namespace {

/// The batch as a number; open_batch if it is a name.
std::int64_t batch_number(const std::string& text) {
  std::int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc{} && stop == end ? number : Builder::open_batch;
}

proto::TensorProto integer_tensor(const std::vector<std::int64_t>& values, const std::vector<std::int64_t>& shape) {
  proto::TensorProto tensor;
  tensor.set_data_type(proto::TensorProto::INT64);
  for (const std::int64_t extent : shape) tensor.add_dims(extent);
  std::string& bytes = *tensor.mutable_raw_data();
  bytes.resize(values.size() * sizeof(std::int64_t));
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return tensor;
}

void set_attribute(proto::AttributeProto& target, const Attribute& attribute) {
  target.set_name(std::string(attribute.name));
  if (const auto* number = std::get_if<std::int64_t>(&attribute.value)) {
    target.set_type(proto::AttributeProto::INT);
    target.set_i(*number);
  } else if (const auto* real = std::get_if<double>(&attribute.value)) {
    target.set_type(proto::AttributeProto::FLOAT);
    target.set_f(static_cast<float>(*real));
  } else if (const auto* text = std::get_if<std::string>(&attribute.value)) {
    target.set_type(proto::AttributeProto::STRING);
    target.set_s(*text);
  } else {
    target.set_type(proto::AttributeProto::INTS);
    for (const std::int64_t value : std::get<std::vector<std::int64_t>>(attribute.value)) target.add_ints(value);
  }
}

}  // namespace

Builder::Builder(std::string_view network, const BuilderOptions& options)
    : options_(options), batch_(batch_number(options.batch)), model_(std::make_unique<proto::ModelProto>()) {
  // Convolutions and poolings of bfloat16 exist from opset 22 on.
  const bool late = options.type == ElementType::bfloat16;
  model_->set_ir_version(late ? 10 : 8);
  model_->add_opset_import()->set_version(late ? 22 : 17);
  model_->set_producer_name("taso-networks");
  model_->mutable_graph()->set_name(std::string(network));
}

Builder::~Builder() = default;

void Builder::write_as_exported(std::int64_t opset) {
  check(nodes() == 0, "the opset is set before the first layer");
  as_exported_ = true;
  model_->set_ir_version(10);
  proto::OperatorSetIdProto& operators = *model_->mutable_opset_import(0);
  operators.set_version(std::max(operators.version(), opset));
}

std::int64_t Builder::opset() const { return model_->opset_import(0).version(); }

Builder::Scope::Scope(Builder& builder, std::string_view name) : builder_(builder), length_(builder.prefix_.size()) {
  builder.prefix_ += name;
  builder.prefix_ += '.';
}

Builder::Scope Builder::scope(std::string_view name) { return {*this, name}; }

std::string Builder::path(std::string_view name) const { return prefix_ + std::string(name); }

std::size_t Builder::nodes() const { return static_cast<std::size_t>(model_->graph().node_size()); }

onnx::Model Builder::finish() { return {std::move(*model_), {}}; }

void Builder::declare_shape(proto::ValueInfoProto& info, const std::vector<std::int64_t>& shape) const {
  for (const std::int64_t extent : shape) {
    auto& dim = *info.mutable_type()->mutable_tensor_type()->mutable_shape()->add_dim();
    if (extent == open_batch)
      dim.set_dim_param(options_.batch);
    else if (extent == open_past || extent == open_seen)
      dim.set_dim_param(extent == open_past ? "past_sequence_length" : "past_sequence_length + 1");
    else
      dim.set_dim_value(extent);
  }
}

Value Builder::graph_input(std::string_view name, ElementType type, std::vector<std::int64_t> shape) {
  proto::ValueInfoProto& info = *model_->mutable_graph()->add_input();
  info.set_name(std::string(name));
  auto& tensor = *info.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(onnx::onnx_data_type(type));
  Value value{std::string(name), std::move(shape), {}};
  declare_shape(info, value.shape);
  return value;
}

Value Builder::input(std::string_view name, const std::vector<std::int64_t>& rest) {
  return graph_input(name, options_.type, of_batch(rest));
}

Value Builder::integer_input(std::string_view name, const std::vector<std::int64_t>& rest) {
  return graph_input(name, ElementType::int64, of_batch(rest));
}

Value Builder::common_integers(std::string_view name, const std::vector<std::int64_t>& shape) {
  return graph_input(name, ElementType::int64, shape);
}

std::vector<std::int64_t> Builder::of_batch(const std::vector<std::int64_t>& rest) const {
  std::vector<std::int64_t> shape{batch_};
  shape.insert(shape.end(), rest.begin(), rest.end());
  return shape;
}

void Builder::output(const Value& value, std::string_view name) {
  proto::GraphProto& graph = *model_->mutable_graph();
  for (proto::NodeProto& node : *graph.mutable_node()) {
    for (std::string& operand : *node.mutable_input())
      if (operand == value.name) operand = name;
    for (std::string& result : *node.mutable_output())
      if (result == value.name) result = name;
  }
  proto::ValueInfoProto& info = *graph.add_output();
  info.set_name(std::string(name));
  auto& tensor = *info.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(onnx::onnx_data_type(options_.type));
  declare_shape(info, value.shape);
}

proto::NodeProto& Builder::add_node(std::string_view type, std::string_view place,
                                    const std::vector<std::string>& operands,
                                    const std::vector<Attribute>& attributes) {
  std::string where = path(place);
  while (!where.empty() && where.back() == '.') where.pop_back();
  std::string name = where.empty() ? std::string(type) : fmt::format("{}/{}", where, type);
  const std::size_t before = names_[name]++;
  if (before > 0) name += fmt::format("_{}", before);
  proto::NodeProto& node = *model_->mutable_graph()->add_node();
  node.set_name(name);
  node.set_op_type(std::string(type));
  for (const std::string& operand : operands) node.add_input(operand);
  for (const Attribute& attribute : attributes) set_attribute(*node.add_attribute(), attribute);
  return node;
}

Value Builder::node(std::string_view type, std::string_view place, const std::vector<std::string>& operands,
                    std::vector<std::int64_t> shape, const Power& power, const std::vector<Attribute>& attributes) {
  proto::NodeProto& node = add_node(type, place, operands, attributes);
  node.add_output(node.name() + "_output");
  return {node.output(0), std::move(shape), power};
}

Value Builder::like(std::string_view type, const Value& x, const Power& power) {
  return node(type, "", {x.name}, x.shape, power);
}

Value Builder::apply(std::string_view type, const std::vector<Value>& operands, const std::vector<std::int64_t>& shape,
                     const Power& power, const std::vector<Attribute>& attributes) {
  return apply_for_several(type, operands, {shape}, power, attributes).front();
}

std::vector<Value> Builder::apply_for_several(std::string_view type, const std::vector<Value>& operands,
                                              const std::vector<std::vector<std::int64_t>>& shapes, const Power& power,
                                              const std::vector<Attribute>& attributes) {
  std::vector<std::string> names;
  for (const Value& operand : operands) names.push_back(operand.name);
  proto::NodeProto& made = add_node(type, "", names, attributes);
  std::vector<Value> results;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    made.add_output(shapes.size() == 1 ? made.name() + "_output" : fmt::format("{}_output_{}", made.name(), i));
    results.push_back({made.output(static_cast<int>(i)), shapes[i], power});
  }
  return results;
}

std::string Builder::constant(proto::TensorProto tensor) {
  if (as_exported_) {
    const auto [entry, is_new] = constants_.emplace(tensor.SerializeAsString(), "");
    if (is_new) {
      entry->second = fmt::format("val_{}", constants_.size());
      tensor.set_name(entry->second);
      *model_->mutable_graph()->add_initializer() = std::move(tensor);
    }
    return entry->second;
  }
  proto::NodeProto& node = add_node("Constant", "", {}, {});
  proto::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name("value");
  attribute.set_type(proto::AttributeProto::TENSOR);
  *attribute.mutable_t() = std::move(tensor);
  node.add_output(node.name() + "_output");
  return node.output(0);
}

std::string Builder::scalar(double number) {
  proto::TensorProto tensor;
  tensor.set_data_type(onnx::onnx_data_type(options_.type));
  // With a deviation of 0 the value is the mean.
  tensor.set_raw_data(seeded_bytes(options_.type, 1, {number, 0}, 0, ""));
  return constant(std::move(tensor));
}

std::string Builder::numbers(const std::vector<std::int64_t>& values) {
  return constant(integer_tensor(values, {static_cast<std::int64_t>(values.size())}));
}

Value Builder::integers(const std::vector<std::int64_t>& numbers, const std::vector<std::int64_t>& shape) {
  return {constant(integer_tensor(numbers, shape)), shape, {}};
}

Value Builder::reals(const std::vector<double>& numbers, const std::vector<std::int64_t>& shape) {
  proto::TensorProto tensor;
  tensor.set_data_type(onnx::onnx_data_type(options_.type));
  for (const std::int64_t extent : shape) tensor.add_dims(extent);
  for (const double number : numbers) *tensor.mutable_raw_data() += seeded_bytes(options_.type, 1, {number, 0}, 0, "");
  return {constant(std::move(tensor)), shape, {}};
}

Value Builder::flags(const std::vector<bool>& flags, const std::vector<std::int64_t>& shape) {
  proto::TensorProto tensor;
  tensor.set_data_type(proto::TensorProto::BOOL);
  for (const std::int64_t extent : shape) tensor.add_dims(extent);
  for (const bool flag : flags) tensor.mutable_raw_data()->push_back(flag ? 1 : 0);
  return {constant(std::move(tensor)), shape, {}};
}

double Builder::lowest() const {
  switch (options_.type) {
    case ElementType::float16: return -65504;
    case ElementType::bfloat16: return -0x1.fep127;
    case ElementType::float64: return std::numeric_limits<double>::lowest();
    default: return std::numeric_limits<float>::lowest();
  }
}

Value Builder::zeros(const std::vector<std::int64_t>& shape) {
  proto::TensorProto tensor;
  tensor.set_data_type(onnx::onnx_data_type(options_.type));
  tensor.add_dims(1);
  tensor.set_raw_data(seeded_bytes(options_.type, 1, {0, 0}, 0, ""));
  const std::string wanted = numbers(shape);
  proto::NodeProto& made = add_node("ConstantOfShape", "", {wanted}, {});
  proto::AttributeProto& attribute = *made.add_attribute();
  attribute.set_name("value");
  attribute.set_type(proto::AttributeProto::TENSOR);
  *attribute.mutable_t() = std::move(tensor);
  made.add_output(made.name() + "_output");
  return {made.output(0), shape, {0, 0}};
}

std::string Builder::weights(std::string_view name, const std::vector<std::int64_t>& shape, const Spread& spread) {
  proto::TensorProto& tensor = *model_->mutable_graph()->add_initializer();
  tensor.set_name(path(name));
  tensor.set_data_type(onnx::onnx_data_type(options_.type));
  std::size_t count = 1;
  for (const std::int64_t extent : shape) {
    tensor.add_dims(extent);
    count *= static_cast<std::size_t>(extent);
  }
  if (options_.with_weights)
    *tensor.mutable_raw_data() = seeded_bytes(options_.type, count, spread, options_.seed, tensor.name());
  return tensor.name();
}

Value Builder::fixed_parameter(std::string_view name, const std::vector<double>& numbers,
                               const std::vector<std::int64_t>& shape) {
  const std::string made = weights(name, shape, {0, 0});
  proto::TensorProto& tensor = *model_->mutable_graph()->mutable_initializer()->rbegin();
  tensor.clear_raw_data();
  for (const double number : numbers) *tensor.mutable_raw_data() += seeded_bytes(options_.type, 1, {number, 0}, 0, "");
  parameters_ += numbers.size();
  return {made, shape, {}};
}

Value Builder::parameter(std::string_view name, const std::vector<std::int64_t>& shape, const Spread& spread) {
  std::uint64_t count = 1;
  for (const std::int64_t extent : shape) count *= static_cast<std::uint64_t>(extent);
  parameters_ += count;
  const double square = spread.mean * spread.mean + spread.deviation * spread.deviation;
  return {weights(name, shape, spread), shape, {square, 0}};
}

}  // namespace taso::examples
