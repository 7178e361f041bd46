#include "verifier/replay/unused_nodes.h"

#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "onnx/export/rewiring.h"
#include "onnx/import/node_body.h"
#include "onnx/model/model_names.h"
#include "onnx/model/proto.h"
#include "onnx/model/tensor_content.h"

namespace taso::verifier {
namespace {

using Message = proto::NodeProto;

std::string name_of(const Message& node) {
  for (const std::string& output : node.output())
    if (!output.empty()) return output;
  return node.name();
}

/// The nodes of a model by name, those that no output needs, and the values that they compute.
struct Unused {
  explicit Unused(const onnx::ModelView& view) {
    std::unordered_set<std::string> needed;
    for (const auto& output : view.model->graph().output()) needed.insert(output.name());
    for (auto node = view.nodes.rbegin(); node != view.nodes.rend(); ++node) {  // consumers before producers
      all.emplace(name_of(**node), *node);
      for (const std::string& output : (*node)->output()) computed.insert(output);
      bool used = false;
      for (const std::string& output : (*node)->output()) used = used || needed.contains(output);
      if (used) {
        for (std::string& name : onnx::operand_names(**node)) needed.insert(std::move(name));
        continue;
      }
      nodes.emplace(name_of(**node), *node);
      values.insert((*node)->output().begin(), (*node)->output().end());
    }
  }

  std::unordered_multimap<std::string, const Message*> all, nodes;
  std::unordered_set<std::string> computed, values;
};

}  // namespace

UnusedNodes compare_unused_nodes(const onnx::ModelView& cleaned, const onnx::ModelView& after) {
  const Unused old(cleaned), now(after);
  UnusedNodes result;
  for (const auto& [name, node] : now.nodes) {
    std::optional<onnx::NamePairs> pairs;
    const Message content = onnx::content_of(*node, after.folder);
    // A node that was needed may no longer be, and still be used by another unneeded one.
    const auto [begin, end] = old.all.equal_range(name);
    for (auto partner = begin; partner != end && !pairs; ++partner)
      pairs = onnx::rewiring_of(onnx::content_of(*partner->second, cleaned.folder), content);
    if (!pairs) {
      result.trouble = fmt::format("the output has a node {} ({}) that nothing uses", onnx::in_quotes(name),
                                   onnx::in_quotes(node->op_type()));
      return result;
    }
    for (const auto& [old_name, new_name] : *pairs) {
      const bool inside = old.values.contains(old_name) || now.values.contains(new_name);
      if (inside && (old_name != new_name || !old.computed.contains(old_name) || !now.values.contains(new_name))) {
        result.trouble = fmt::format("the node {} ({}), which nothing uses, takes another value", onnx::in_quotes(name),
                                     onnx::in_quotes(node->op_type()));
        return result;
      }
      if (!inside) result.taken.emplace_back(old_name, new_name);
    }
  }
  for (const auto& [name, node] : old.nodes)
    if (now.nodes.count(name) < old.nodes.count(name) &&
        !onnx::is_deterministic(*node, onnx::opset_of(*cleaned.model, *node))) {
      result.trouble =
          fmt::format("the node {} ({}) is missing", onnx::in_quotes(name), onnx::in_quotes(node->op_type()));
      return result;
    }
  return result;
}

}  // namespace taso::verifier
