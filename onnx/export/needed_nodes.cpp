#include "onnx/export/needed_nodes.h"

#include <algorithm>
#include <vector>

#include "onnx/model/proto.h"

namespace taso::onnx {

namespace {

/// The nodes that the graph outputs need, by following operands backwards.
std::unordered_set<const proto::NodeProto*> needed_nodes(const GraphEdit& edit) {
  std::unordered_set<const proto::NodeProto*> needed;
  std::vector<std::string> stack;
  for (const auto& output : edit.model().graph().output()) stack.push_back(output.name());
  while (!stack.empty()) {
    const proto::NodeProto* node = edit.producer(stack.back());
    stack.pop_back();
    if (node == nullptr || !needed.insert(node).second) continue;
    stack.insert(stack.end(), node->input().begin(), node->input().end());
    for (std::string& name : captured_names(*node)) stack.push_back(std::move(name));
  }
  return needed;
}

}  // namespace

std::unordered_set<const proto::NodeProto*> needless_nodes(const GraphEdit& edit) {
  const auto needed = needed_nodes(edit);
  std::unordered_set<const proto::NodeProto*> needless;
  for (const proto::NodeProto* node : edit.view().nodes)
    if (!needed.contains(node)) needless.insert(node);
  return needless;
}

void remove_needless_nodes(GraphEdit& edit, const std::unordered_set<const proto::NodeProto*>& kept) {
  std::unordered_set<const proto::NodeProto*> stay = needed_nodes(edit);
  for (const proto::NodeProto* node : kept) stay.insert(edit.current(*node));
  const ModelView written = edit.view();
  for (auto node = written.nodes.rbegin(); node != written.nodes.rend(); ++node) {
    if (stay.contains(*node)) continue;
    const bool used = std::any_of((*node)->output().begin(), (*node)->output().end(),
                                  [&](const std::string& name) { return !name.empty() && edit.uses(name) > 0; });
    if (!used) edit.remove(**node);
  }
}

}  // namespace taso::onnx
