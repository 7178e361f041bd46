#include "onnx/import/view.h"

#include <algorithm>
#include <unordered_set>

#include "onnx/model/message_bytes.h"
#include "onnx/model/model.h"
#include "onnx/model/proto.h"

namespace taso::onnx {
namespace {

using Names = std::unordered_set<std::string>;

/// The depth is bounded by protobuf's limit on nesting when the model was parsed.
void collect_captured(const proto::GraphProto& graph, Names scope, Names& seen, std::vector<std::string>& captured) {
  for (const auto& input : graph.input()) scope.insert(input.name());
  for (const auto& tensor : graph.initializer()) scope.insert(tensor.name());
  for (const auto& tensor : graph.sparse_initializer()) scope.insert(tensor.values().name());
  for (const auto& node : graph.node())
    for (const auto& output : node.output()) scope.insert(output);
  const auto use = [&](const std::string& name) {
    if (!name.empty() && !scope.contains(name) && seen.insert(name).second) captured.push_back(name);
  };
  for (const auto& node : graph.node()) {
    for (const auto& input : node.input()) use(input);
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_g()) collect_captured(attribute.g(), scope, seen, captured);
      for (const auto& inner : attribute.graphs()) collect_captured(inner, scope, seen, captured);
    }
  }
  for (const auto& output : graph.output()) use(output.name());
}

}  // namespace

ModelView view_of(const Model& model) {
  ModelView view{&model.proto(), model.folder(), {}, {}, {}};
  for (const auto& input : model.proto().graph().input()) view.inputs.push_back(&input);
  for (const auto& node : model.proto().graph().node()) view.nodes.push_back(&node);
  for (const auto& tensor : model.proto().graph().initializer()) view.initializers.push_back(&tensor);
  return view;
}

bool is_default_domain(std::string_view domain) { return domain.empty() || domain == "ai.onnx"; }

std::int64_t opset_of(const proto::ModelProto& model, std::string_view domain) {
  for (const auto& opset : model.opset_import())
    if (opset.domain() == domain || (is_default_domain(domain) && is_default_domain(opset.domain())))
      return opset.version();
  return 0;
}

std::int64_t opset_of(const proto::ModelProto& model, const proto::NodeProto& node) {
  if (!overload_of(node).empty()) return 0;
  for (const auto& attribute : node.attribute())
    if (!attribute.unknown_fields().empty()) return 0;
  for (const auto& function : model.functions()) {
    const bool same_domain = function.domain() == node.domain() ||
                             (is_default_domain(function.domain()) && is_default_domain(node.domain()));
    if (same_domain && function.name() == node.op_type()) return 0;
  }
  return opset_of(model, node.domain());
}

bool is_of_onnxruntime(const proto::ModelProto& model, const proto::NodeProto& node) {
  if (node.domain() != onnxruntime_domain) return false;
  const auto is_it = [&](const auto& function) {
    return function.domain() == node.domain() && function.name() == node.op_type();
  };
  const bool is_defined_here = std::any_of(model.functions().begin(), model.functions().end(), is_it);
  return opset_of(model, node) == onnxruntime_opset || (!is_defined_here && opset_of(model, node.domain()) == 0);
}

std::vector<std::string> captured_names(const proto::NodeProto& node) {
  std::vector<std::string> captured;
  Names seen;
  for (const auto& attribute : node.attribute()) {
    if (attribute.has_g()) collect_captured(attribute.g(), {}, seen, captured);
    for (const auto& inner : attribute.graphs()) collect_captured(inner, {}, seen, captured);
  }
  return captured;
}

std::size_t outputs_of(const proto::NodeProto& node) {
  auto outputs = static_cast<std::size_t>(node.output_size());
  while (outputs > 0 && node.output(static_cast<int>(outputs) - 1).empty()) --outputs;
  return outputs;
}

std::vector<std::string> operand_names(const proto::NodeProto& node) {
  std::vector<std::string> names(node.input().begin(), node.input().end());
  for (std::string& name : captured_names(node)) names.push_back(std::move(name));
  return names;
}

std::unordered_map<std::string, std::size_t> places_of_operands(const proto::NodeProto& node) {
  std::unordered_map<std::string, std::size_t> places;
  std::size_t place = 0;
  for (std::string& name : operand_names(node)) places.emplace(std::move(name), place++);
  return places;
}

}  // namespace taso::onnx
