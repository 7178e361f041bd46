// Passes that look only at the wiring: nodes that do nothing, duplicates, and nodes that nothing uses.
#include <algorithm>
#include <unordered_map>

#include "onnx/cleanup/passes.h"
#include "onnx/import/node_body.h"
#include "onnx/model/attributes.h"
#include "onnx/model/proto.h"
#include "onnx/model/tensor_data.h"

namespace taso::onnx::cleanup {
namespace {

bool is_default(const proto::NodeProto& node, std::string_view op_type) {
  return node.op_type() == op_type && is_default_domain(node.domain());
}

std::int64_t opset(const Context& context, const proto::NodeProto& node) {
  return opset_of(context.edit.model(), node);
}

/// Larger weights outside of the model are not read to find equal ones.
constexpr std::size_t largest_external = 4096;

/// A dropout at inference whose mask, if any, is unused.
bool is_idle_dropout(const Context& context, const proto::NodeProto& node) {
  if (!is_default(node, "Dropout") || opset(context, node) < 7 || node.input_size() < 1) return false;
  if (node.output_size() > 1 && !node.output(1).empty() && context.edit.uses(node.output(1)) > 0) return false;
  if (node.input_size() < 3 || node.input(2).empty()) return true;
  const auto known = context.imported.facts.find(node.input(2));
  if (known == context.imported.facts.end()) return false;
  const auto& training = known->second.constant;
  return training && training->size() == 1 && training->doubles().front() == 0;
}

}  // namespace

bool bypass(GraphEdit& edit, const proto::NodeProto& node, const std::string& input, const std::string& output) {
  if (!edit.is_graph_output(output)) {
    if (edit.is_pinned(output) || !edit.can_replace_uses(output, input)) return false;
    const std::string from = output, to = input;  // copies: removing the node may free the names
    edit.replace_uses(from, to);
    edit.remove(node);
    return true;
  }
  // The output's name must stay, so the node that computes the input takes it over, unless we must not touch that node.
  const proto::NodeProto* producer = edit.producer(input);
  if (producer == nullptr || edit.is_graph_output(input) || edit.is_pinned(input) ||
      !edit.can_replace_uses(input, output) || !is_deterministic(*producer, opset_of(edit.model(), *producer)))
    return false;
  const std::string from = input, to = output;
  edit.remove(node);
  edit.modify(*producer, [&](proto::NodeProto& copy) {
    for (auto& name : *copy.mutable_output())
      if (name == from) name = to;
  });
  edit.replace_uses(from, to);
  return true;
}

void identity(const Context& context) {
  context.edit.for_each_node([&](const proto::NodeProto& node) {
    const bool idle = (is_default(node, "Identity") && node.input_size() == 1 && opset(context, node) > 0) ||
                      is_idle_dropout(context, node);
    if (!idle || node.output_size() < 1 || node.output(0).empty() || node.input(0).empty()) return;
    std::string name = name_of(node);
    if (bypass(context.edit, node, node.input(0), node.output(0))) context.done.push_back(std::move(name));
  });
}

void no_op(const Context& context) {
  context.edit.for_each_node([&](const proto::NodeProto& node) {
    if (node.output_size() != 1 || node.input_size() < 1 || node.input(0).empty() || !is_default_domain(node.domain()))
      return;
    if (is_default(node, "Identity") || is_default(node, "Dropout") || has_subgraph(node)) return;
    // Import gives a node that changes nothing the value of its operand.
    const auto output = context.imported.values.find(node.output(0));
    const auto input = context.imported.values.find(node.input(0));
    if (output == context.imported.values.end() || input == context.imported.values.end() ||
        !(output->second == input->second))
      return;
    std::string name = name_of(node);
    if (bypass(context.edit, node, node.input(0), node.output(0))) context.done.push_back(std::move(name));
  });
}

void common_subexpressions(const Context& context) {
  std::unordered_map<std::string, std::vector<std::string>> first;  // what a node computes → the names of its results
  context.edit.for_each_node([&](const proto::NodeProto& node) {
    if (has_subgraph(node) || !is_deterministic(node, opset(context, node))) return;
    if (node.op_type() == "Constant" && node.ByteSizeLong() > context.options.fold_limit) return;
    std::string key = node.domain() + '\0' + node.op_type() + '\0' + attribute_bytes(node);
    for (const std::string& input : node.input()) key += '\0' + input;
    for (const std::string& output : node.output()) key += output.empty() ? "\1-" : "\1+";
    const std::vector<std::string> outputs(node.output().begin(), node.output().end());
    const auto [known, fresh] = first.try_emplace(key, outputs);
    if (fresh) return;
    const std::vector<std::string>& kept = known->second;
    const auto replaceable = [&](std::size_t i) {
      return outputs[i].empty() || (!context.edit.is_graph_output(outputs[i]) && !context.edit.is_pinned(outputs[i]) &&
                                    context.edit.can_replace_uses(outputs[i], kept[i]));
    };
    bool all = true;
    for (std::size_t i = 0; i < outputs.size(); ++i) all = all && replaceable(i);
    if (!all) return;
    for (std::size_t i = 0; i < outputs.size(); ++i)
      if (!outputs[i].empty()) context.edit.replace_uses(outputs[i], kept[i]);
    context.done.push_back(name_of(node));
    context.edit.remove(node);
  });
}

void equal_weights(const Context& context) {
  GraphEdit& edit = context.edit;
  // Weights of one type and shape, with equal first bytes, are compared in full.
  std::unordered_map<std::string, std::vector<std::string>> alike;
  for (const proto::TensorProto* tensor : edit.view().initializers) {
    const std::string name = tensor->name();
    if (edit.constant(name) != tensor || edit.uses(name) == 0 || edit.is_graph_output(name) || edit.is_pinned(name))
      continue;
    const auto bytes = raw_bytes_of(*tensor);
    if (element_type_from_onnx(tensor->data_type()) == ElementType::undefined || !bytes ||
        *bytes > context.options.memory_limit)
      continue;
    const bool is_external = tensor->data_location() == proto::TensorProto::EXTERNAL;
    if (is_external && *bytes > largest_external) continue;
    std::string key = std::to_string(tensor->data_type());
    for (const std::int64_t dim : tensor->dims()) key += ' ' + std::to_string(dim);
    if (!is_external) key += ':' + tensor->raw_data().substr(0, 64);
    bool merged = false;
    for (const std::string& other : alike[key]) {
      if (!identical(read_tensor(*edit.constant(other), edit.folder()), read_tensor(*tensor, edit.folder()))) continue;
      if (!edit.can_replace_uses(name, other)) continue;
      edit.replace_uses(name, other);
      context.done.push_back(name);
      merged = true;
      break;
    }
    if (!merged) alike[key].push_back(name);
  }
}

void dead_code(const Context& context) {
  GraphEdit& edit = context.edit;
  const ModelView view = edit.view();
  for (auto node = view.nodes.rbegin(); node != view.nodes.rend(); ++node) {
    const bool used = std::any_of((*node)->output().begin(), (*node)->output().end(),
                                  [&](const std::string& name) { return !name.empty() && edit.uses(name) > 0; });
    // Keep nodes that are not known to be deterministic.
    if (used || !is_deterministic(**node, opset(context, **node))) continue;
    context.done.push_back(name_of(**node));
    edit.remove(**node);
  }
}

void unused_weights(const Context& context) {
  GraphEdit& edit = context.edit;
  const bool inputs_are_constants = edit.model().ir_version() < 4;
  for (const proto::TensorProto* tensor : edit.view().initializers) {
    const std::string name = tensor->name();
    if (edit.uses(name) > 0 || (edit.is_graph_input(name) && !inputs_are_constants)) continue;
    edit.remove_initializer(name);
    context.done.push_back(name);
  }
}

}  // namespace taso::onnx::cleanup
