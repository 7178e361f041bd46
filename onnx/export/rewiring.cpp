#include "onnx/export/rewiring.h"

#include <algorithm>
#include <unordered_set>

#include "onnx/import/view.h"
#include "onnx/model/attributes.h"
#include "onnx/model/message_bytes.h"
#include "onnx/model/proto.h"

namespace taso::onnx {
namespace {

using Scope = std::unordered_set<std::string>;

/// Erases the names of values that subgraphs use, and keeps everything else.
void forget_operands(proto::NodeProto& node);

void forget_operands(proto::GraphProto& graph) {
  for (auto& node : *graph.mutable_node()) {
    for (auto& input : *node.mutable_input())
      if (!input.empty()) input = "value";
    forget_operands(node);
  }
  for (auto& output : *graph.mutable_output()) output.set_name("value");
}

void forget_operands(proto::NodeProto& node) {
  for (auto& attribute : *node.mutable_attribute()) {
    if (attribute.has_g()) forget_operands(*attribute.mutable_g());
    for (auto& graph : *attribute.mutable_graphs()) forget_operands(graph);
  }
}

std::string bytes_without_operands(const proto::NodeProto& node) {
  if (!has_subgraph(node)) return attribute_bytes(node);
  proto::NodeProto copy = node;
  forget_operands(copy);
  return attribute_bytes(copy);
}

/// The fields of a node beyond its operator, operands, results and attributes, e.g. which function of several with one
/// name it calls.
std::string bytes_beside(const proto::NodeProto& node) {
  using Node = proto::NodeProto;
  return bytes_without(node, {Node::kInputFieldNumber, Node::kOutputFieldNumber, Node::kNameFieldNumber,
                              Node::kOpTypeFieldNumber, Node::kAttributeFieldNumber});
}

/// Walks two subgraphs that differ only in the names of the values that they use.
class Walk {
 public:
  explicit Walk(NamePairs& pairs) : pairs_(pairs) {}

  bool graph(const proto::GraphProto& original, const proto::GraphProto& edited, Scope scope) {
    for (const auto& input : original.input()) scope.insert(input.name());
    for (const auto& tensor : original.initializer()) scope.insert(tensor.name());
    for (const auto& tensor : original.sparse_initializer()) scope.insert(tensor.values().name());
    for (const auto& node : original.node()) scope.insert(node.output().begin(), node.output().end());
    for (int i = 0; i < original.node_size(); ++i) {
      const proto::NodeProto &from = original.node(i), &to = edited.node(i);
      for (int j = 0; j < from.input_size(); ++j)
        if (!use(from.input(j), to.input(j), scope)) return false;
      if (!subgraphs(from, to, scope)) return false;
    }
    for (int i = 0; i < original.output_size(); ++i)
      if (!use(original.output(i).name(), edited.output(i).name(), scope)) return false;
    return true;
  }

  bool subgraphs(const proto::NodeProto& original, const proto::NodeProto& edited, const Scope& scope) {
    for (int i = 0; i < original.attribute_size(); ++i) {
      const proto::AttributeProto &from = original.attribute(i), &to = edited.attribute(i);
      if (from.name() != to.name()) return false;  // the same attributes in another order: we never write that
      if (from.has_g() && !graph(from.g(), to.g(), scope)) return false;
      for (int j = 0; j < from.graphs_size(); ++j)
        if (!graph(from.graphs(j), to.graphs(j), scope)) return false;
    }
    return true;
  }

 private:
  bool use(const std::string& original, const std::string& edited, const Scope& scope) {
    if (scope.contains(original) || scope.contains(edited)) return original == edited;
    if (!original.empty()) pairs_.emplace_back(original, edited);
    return true;
  }

  NamePairs& pairs_;
};

}  // namespace

std::optional<NamePairs> rewiring_of(const proto::NodeProto& original, const proto::NodeProto& edited) {
  if (original.op_type() != edited.op_type() || original.domain() != edited.domain()) return std::nullopt;
  const auto same_places = [](const auto& a, const auto& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const std::string& x, const std::string& y) { return x.empty() == y.empty(); });
  };
  if (!same_places(original.input(), edited.input()) || !same_places(original.output(), edited.output()) ||
      bytes_beside(original) != bytes_beside(edited) ||
      bytes_without_operands(original) != bytes_without_operands(edited))
    return std::nullopt;
  NamePairs pairs;
  for (int i = 0; i < original.input_size(); ++i)
    if (!original.input(i).empty()) pairs.emplace_back(original.input(i), edited.input(i));
  if (!Walk(pairs).subgraphs(original, edited, {})) return std::nullopt;
  return pairs;
}

}  // namespace taso::onnx
