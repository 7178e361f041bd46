#include "ops/onnx/validate_constants.h"

#include <string_view>
#include <unordered_map>
#include <vector>

#include "ops/onnx/proto.h"

namespace taso {
namespace {

bool is_constant(const onnx::NodeProto& node) {
  return node.op_type() == "Constant" && (node.domain().empty() || node.domain() == "ai.onnx") &&
         node.output_size() == 1 && !node.output(0).empty();
}

template <class Message>
void keep(google::protobuf::RepeatedPtrField<Message>& list, const std::vector<bool>& dropped) {
  std::vector<Message*> all(dropped.size());
  list.ExtractSubrange(0, list.size(), all.data());
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (dropped[i])
      delete all[i];
    else
      list.AddAllocated(all[i]);
  }
}

}  // namespace

void drop_overridden_constants(onnx::GraphProto& graph) {
  struct Definition {
    bool node;
    std::size_t index;
  };
  std::unordered_map<std::string_view, Definition> last;
  std::vector<Definition> overridden;
  const auto define = [&](std::string_view name, Definition definition) {
    const auto [known, is_new] = last.emplace(name, definition);
    if (is_new) return;
    overridden.push_back(known->second);
    // The key goes with the message that is dropped; the map ends before that.
    known->second = definition;
  };
  for (int i = 0; i < graph.initializer_size(); ++i)
    if (!graph.initializer(i).name().empty()) define(graph.initializer(i).name(), {false, static_cast<std::size_t>(i)});
  for (int i = 0; i < graph.node_size(); ++i)
    if (is_constant(graph.node(i))) define(graph.node(i).output(0), {true, static_cast<std::size_t>(i)});
  if (overridden.empty()) return;

  std::vector<bool> initializers(static_cast<std::size_t>(graph.initializer_size()), false);
  std::vector<bool> nodes(static_cast<std::size_t>(graph.node_size()), false);
  for (const Definition& definition : overridden) (definition.node ? nodes : initializers)[definition.index] = true;
  last.clear();
  keep(*graph.mutable_initializer(), initializers);
  keep(*graph.mutable_node(), nodes);
}

}  // namespace taso
