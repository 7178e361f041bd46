#include "onnx/export/part.h"

#include <unordered_set>

#include "onnx/export/value_type.h"
#include "onnx/import/view.h"
#include "onnx/model/proto.h"

namespace taso::onnx {
Model part_of(const Model& model, const std::vector<bool>& kept, const ImportedModel& imported) {
  const proto::GraphProto& whole = model.proto().graph();
  proto::ModelProto result = model.proto();
  proto::GraphProto& graph = *result.mutable_graph();
  graph.clear_node();
  graph.clear_input();
  graph.clear_output();
  graph.clear_initializer();
  graph.clear_sparse_initializer();
  graph.clear_value_info();
  graph.clear_quantization_annotation();

  std::unordered_set<std::string> made, used;
  for (int i = 0; i < whole.node_size(); ++i) {
    if (!kept[static_cast<std::size_t>(i)]) continue;
    const proto::NodeProto& node = whole.node(i);
    *graph.add_node() = node;
    for (const std::string& name : node.output()) made.insert(name);
    for (const std::string& name : operand_names(node)) used.insert(name);
  }
  std::unordered_set<std::string> given;  // by weights and inputs
  for (const auto& tensor : whole.initializer())
    if (used.contains(tensor.name())) {
      *graph.add_initializer() = tensor;
      given.insert(tensor.name());
    }
  for (const auto& tensor : whole.sparse_initializer())
    if (used.contains(tensor.values().name())) {
      *graph.add_sparse_initializer() = tensor;
      given.insert(tensor.values().name());
    }
  for (const auto& input : whole.input())
    if (used.contains(input.name())) {
      *graph.add_input() = input;
      given.insert(input.name());
    }
  for (const proto::NodeProto& node : graph.node())
    for (const std::string& name : operand_names(node)) {
      if (name.empty() || made.contains(name) || !given.insert(name).second) continue;
      proto::ValueInfoProto& input = *graph.add_input();
      input.set_name(name);
      if (const auto value = imported.values.find(name); value != imported.values.end())
        write_type(value->second.type(), input);
    }
  std::unordered_set<std::string> outputs;
  for (const auto& output : whole.output())
    if (made.contains(output.name()) && outputs.insert(output.name()).second) *graph.add_output() = output;
  for (const proto::NodeProto& node : graph.node())
    for (const std::string& name : node.output()) {
      if (name.empty() || used.contains(name) || !outputs.insert(name).second) continue;
      proto::ValueInfoProto& output = *graph.add_output();
      output.set_name(name);
      if (const auto value = imported.values.find(name); value != imported.values.end())
        write_type(value->second.type(), output);
    }
  for (const auto& info : whole.value_info())
    if (made.contains(info.name())) *graph.add_value_info() = info;
  return Model(std::move(result), model.folder());
}

}  // namespace taso::onnx
