#include "runtime/onnxruntime/graph.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "runtime/onnxruntime/model.h"

namespace taso::onnxruntime {
namespace {

/// The numbers of AttributeProto.AttributeType.
enum AttributeType { float_value = 1, integer, text, tensor, graph, floats, integers, texts };

/// A list that ONNX Runtime gives in two steps: its length, then its items.
template <class Item, class Count, class Get, class Owner>
std::vector<Item> list(const OrtApi& api, Count count, Get get, const Owner* owner) {
  std::vector<Item> items(ask<std::size_t>(api, count, owner));
  if (!items.empty()) require(api, get(owner, items.data(), items.size()));
  return items;
}

std::string name_of(const OrtApi& api, const OrtValueInfo* value) {
  return value == nullptr ? "" : ask<const char*>(api, api.GetValueInfoName, value);
}

std::vector<std::string> names_of(const OrtApi& api, const std::vector<const OrtValueInfo*>& values) {
  std::vector<std::string> names;
  names.reserve(values.size());
  for (const OrtValueInfo* value : values) names.push_back(name_of(api, value));
  return names;
}

Value read_value(const OrtApi& api, const OrtValueInfo& info) {
  Value value;
  value.name = name_of(api, &info);
  value.info = &info;
  value.is_constant = ask<bool>(api, api.ValueInfo_IsConstantInitializer, &info);
  const auto* type = ask<const OrtTypeInfo*>(api, api.GetValueInfoTypeInfo, &info);
  const auto* tensor =
      type == nullptr ? nullptr : ask<const OrtTensorTypeAndShapeInfo*>(api, api.CastTypeInfoToTensorInfo, type);
  if (tensor == nullptr) return value;
  value.element = ask<ONNXTensorElementDataType>(api, api.GetTensorElementType, tensor);
  const auto rank = ask<std::size_t>(api, api.GetDimensionsCount, tensor);
  if (rank == 0) return value;  // a scalar, or a shape that is not known: this interface does not tell
  std::vector<std::int64_t> sizes(rank);
  std::vector<const char*> names(rank);
  require(api, api.GetDimensions(tensor, sizes.data(), rank));
  require(api, api.GetSymbolicDimensions(tensor, names.data(), rank));
  value.shape.emplace();
  for (std::size_t i = 0; i < rank; ++i) value.shape->push_back({sizes[i], names[i] == nullptr ? "" : names[i]});
  return value;
}

void keep(const OrtApi& api, const OrtValueInfo* value, Graph& graph) {
  const std::string name = name_of(api, value);
  if (!name.empty() && !graph.values.contains(name)) graph.values.emplace(name, read_value(api, *value));
}

template <class T>
std::vector<T> numbers_of(const std::string& bytes) {
  std::vector<T> numbers(bytes.size() / sizeof(T));
  if (!numbers.empty()) std::memcpy(numbers.data(), bytes.data(), numbers.size() * sizeof(T));
  return numbers;
}

/// The fields of AttributeProto.
void write_attribute(const OrtApi& api, const OrtOpAttr* attribute, Message& message) {
  const auto type = ask<OrtOpAttrType>(api, api.OpAttr_GetType, attribute);
  message.text(1, ask<const char*>(api, api.OpAttr_GetName, attribute));
  if (type == ORT_OP_ATTR_TENSOR) {
    auto* value = ask<OrtValue*>(api, api.OpAttr_GetTensorAttributeAsOrtValue, attribute);
    const auto release = [&](OrtValue* one) { api.ReleaseValue(one); };
    const std::unique_ptr<OrtValue, decltype(release)> owner(value, release);
    message.message(5, write_tensor("", view_of(api, *value)));
    return message.number(20, tensor);
  }
  const std::string content = content_of(api, attribute, type);
  switch (type) {
    case ORT_OP_ATTR_INT:
      message.number(3, numbers_of<std::int64_t>(content).at(0));
      return message.number(20, integer);
    case ORT_OP_ATTR_INTS:
      for (const std::int64_t one : numbers_of<std::int64_t>(content)) message.number(8, one);
      return message.number(20, integers);
    case ORT_OP_ATTR_FLOAT: message.real(2, numbers_of<float>(content).at(0)); return message.number(20, float_value);
    case ORT_OP_ATTR_FLOATS:
      for (const float one : numbers_of<float>(content)) message.real(7, one);
      return message.number(20, floats);
    case ORT_OP_ATTR_STRING:
      // Some releases add a zero byte.
      message.text(4, std::string_view(content).substr(0, std::min(content.find('\0'), content.size())));
      return message.number(20, text);
    case ORT_OP_ATTR_STRINGS:  // each ends with a zero byte
      for (std::size_t start = 0, end = 0; start < content.size(); start = end + 1) {
        end = std::min(content.find('\0', start), content.size());
        message.text(9, std::string_view(content).substr(start, end - start));
      }
      return message.number(20, texts);
    default: throw Failure(ORT_NOT_IMPLEMENTED, "an attribute of an unknown kind");
  }
}

/// ONNX Runtime adds default values. That of an RNN's activations fits only two directions.
bool is_default_of_rnn(const OrtApi& api, const Node& node, const OrtOpAttr* attribute) {
  return node.op_type == "RNN" &&
         std::string_view("activations") == ask<const char*>(api, api.OpAttr_GetName, attribute) &&
         content_of(api, attribute, ORT_OP_ATTR_STRINGS) == std::string_view("Tanh\0Tanh\0", 10);
}

void write_attributes(const OrtApi& api, Node& node) {
  Message fields;
  for (const OrtOpAttr* attribute :
       list<const OrtOpAttr*>(api, api.Node_GetNumAttributes, api.Node_GetAttributes, node.node)) {
    if (ask<OrtOpAttrType>(api, api.OpAttr_GetType, attribute) == ORT_OP_ATTR_GRAPH) continue;
    if (is_default_of_rnn(api, node, attribute)) continue;
    Message message;
    write_attribute(api, attribute, message);
    fields.message(5, message);
  }
  const auto count = ask<std::size_t>(api, api.Node_GetNumSubgraphs, node.node);
  std::vector<const OrtGraph*> subgraphs(count);
  std::vector<const char*> names(count);
  if (count > 0) require(api, api.Node_GetSubgraphs(node.node, subgraphs.data(), count, names.data()));
  for (std::size_t i = 0; i < count; ++i) {
    Message message;
    message.text(1, names[i]);
    message.message(6, write_subgraph(api, *subgraphs[i]));
    message.number(20, graph);
    fields.message(5, message);
  }
  node.attributes = fields.bytes();
}

Node read_node(const OrtApi& api, const OrtNode* given, Graph& graph) {
  Node node;
  node.node = given;
  node.name = ask<const char*>(api, api.Node_GetName, given);
  node.op_type = ask<const char*>(api, api.Node_GetOperatorType, given);
  node.domain = ask<const char*>(api, api.Node_GetDomain, given);
  const auto inputs = list<const OrtValueInfo*>(api, api.Node_GetNumInputs, api.Node_GetInputs, given);
  const auto outputs = list<const OrtValueInfo*>(api, api.Node_GetNumOutputs, api.Node_GetOutputs, given);
  const auto captured =
      list<const OrtValueInfo*>(api, api.Node_GetNumImplicitInputs, api.Node_GetImplicitInputs, given);
  for (const auto* values : {&inputs, &outputs, &captured})
    for (const OrtValueInfo* value : *values) keep(api, value, graph);
  node.inputs = names_of(api, inputs);
  node.outputs = names_of(api, outputs);
  node.captured = names_of(api, captured);
  if (node.op_type == "EPContext") {  // its attributes may be large, and no model of ours has it
    node.obstacle = "a node of ONNX Runtime";
    return node;
  }
  try {
    write_attributes(api, node);
  } catch (const Failure& failure) {
    node.obstacle = failure.what();
  }
  return node;
}

}  // namespace

Graph read_graph(const OrtApi& api, const OrtGraph& given) {
  Graph graph;
  graph.ir_version = ask<std::int64_t>(api, api.Graph_GetOnnxIRVersion, &given);
  if (const std::filesystem::path path = ask<const ORTCHAR_T*>(api, api.Graph_GetModelPath, &given); !path.empty())
    graph.folder = path.has_parent_path() ? path.parent_path() : ".";
  const auto count = ask<std::size_t>(api, api.Graph_GetNumOperatorSets, &given);
  std::vector<const char*> domains(count);
  std::vector<std::int64_t> versions(count);
  if (count > 0) require(api, api.Graph_GetOperatorSets(&given, domains.data(), versions.data(), count));
  for (std::size_t i = 0; i < count; ++i) graph.opsets.emplace_back(domains[i], versions[i]);
  for (const OrtNode* node : list<const OrtNode*>(api, api.Graph_GetNumNodes, api.Graph_GetNodes, &given))
    graph.nodes.push_back(read_node(api, node, graph));
  const auto names = [&](const std::vector<const OrtValueInfo*>& values) {
    for (const OrtValueInfo* value : values) keep(api, value, graph);
    return names_of(api, values);
  };
  graph.inputs = names(list<const OrtValueInfo*>(api, api.Graph_GetNumInputs, api.Graph_GetInputs, &given));
  graph.outputs = names(list<const OrtValueInfo*>(api, api.Graph_GetNumOutputs, api.Graph_GetOutputs, &given));
  graph.constants =
      names(list<const OrtValueInfo*>(api, api.Graph_GetNumInitializers, api.Graph_GetInitializers, &given));
  return graph;
}

std::string content_of(const OrtApi& api, const OrtOpAttr* attribute, OrtOpAttrType type) {
  std::size_t size = 0;
  api.ReleaseStatus(api.ReadOpAttr(attribute, type, nullptr, 0, &size));  // fails, and tells the size
  std::string bytes(size, '\0');
  if (size > 0) require(api, api.ReadOpAttr(attribute, type, bytes.data(), bytes.size(), &size));
  return bytes;
}

bool is_subgraph(const OrtApi& api, const OrtGraph& graph, bool knows_parents) {
  if (ask<const OrtNode*>(api, api.Graph_GetParentNode, &graph) != nullptr) return true;
  if (knows_parents) return false;
  auto* allocator = ask<OrtAllocator*>(api, api.GetAllocatorWithDefaultOptions);
  auto* metadata = ask<OrtModelMetadata*>(api, api.Graph_GetModelMetadata, &graph);
  const auto release = [&](OrtModelMetadata* one) { api.ReleaseModelMetadata(one); };
  const std::unique_ptr<OrtModelMetadata, decltype(release)> owner(metadata, release);
  auto* name = ask<char*>(api, api.ModelMetadataGetGraphName, metadata, allocator);
  const auto free = [&](char* one) { allocator->Free(allocator, one); };
  const std::unique_ptr<char, decltype(free)> name_owner(name, free);
  return std::string_view(name) != ask<const char*>(api, api.Graph_GetName, &graph);
}

std::vector<std::string> input_names(const OrtApi& api, const OrtNode& node) {
  return names_of(api, list<const OrtValueInfo*>(api, api.Node_GetNumInputs, api.Node_GetInputs, &node));
}

std::vector<std::string> output_names(const OrtApi& api, const OrtNode& node) {
  return names_of(api, list<const OrtValueInfo*>(api, api.Node_GetNumOutputs, api.Node_GetOutputs, &node));
}

bool is_element(std::int32_t type) {
  return (type >= TASO_FLOAT32 && type <= TASO_INT64) || (type >= TASO_BOOL && type <= TASO_UINT64) ||
         type == TASO_BFLOAT16;
}

TensorView view_of(const OrtApi& api, const OrtValue& value) {
  if (ask<ONNXType>(api, api.GetValueType, &value) != ONNX_TYPE_TENSOR)
    throw Failure(ORT_NOT_IMPLEMENTED, "a value is not a tensor");
  auto* info = ask<OrtTensorTypeAndShapeInfo*>(api, api.GetTensorTypeAndShape, &value);
  const auto release = [&](OrtTensorTypeAndShapeInfo* one) { api.ReleaseTensorTypeAndShapeInfo(one); };
  const std::unique_ptr<OrtTensorTypeAndShapeInfo, decltype(release)> owner(info, release);
  TensorView view;
  view.element = ask<ONNXTensorElementDataType>(api, api.GetTensorElementType, info);
  if (!is_element(view.element)) throw Failure(ORT_NOT_IMPLEMENTED, "a tensor has an element type without support");
  view.sizes.resize(ask<std::size_t>(api, api.GetDimensionsCount, info));
  require(api, api.GetDimensions(info, view.sizes.data(), view.sizes.size()));
  const auto* memory = ask<const OrtMemoryInfo*>(api, api.GetTensorMemoryInfo, &value);
  OrtMemoryInfoDeviceType device = OrtMemoryInfoDeviceType_CPU;
  api.MemoryInfoGetDeviceType(memory, &device);
  // Host memory that a GPU can read too has the GPU's type.
  view.is_on_device =
      device == OrtMemoryInfoDeviceType_GPU && api.MemoryInfoGetDeviceMemType(memory) == OrtDeviceMemoryType_DEFAULT;
  if (view.is_on_device) view.device = ask<int>(api, api.MemoryInfoGetId, memory);
  const auto size = ask<std::size_t>(api, api.GetTensorSizeInBytes, &value);
  view.bytes = {static_cast<const char*>(ask<const void*>(api, api.GetTensorData, &value)), size};
  return view;
}

}  // namespace taso::onnxruntime
