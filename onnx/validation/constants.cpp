#include "onnx/validation/constants.h"

#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "onnx/model/proto.h"

namespace taso::onnx {
namespace {

bool is_constant(const proto::NodeProto& node) {
  return node.op_type() == "Constant" && (node.domain().empty() || node.domain() == "ai.onnx") &&
         node.output_size() == 1 && !node.output(0).empty();
}

}  // namespace

void drop_overridden_constants(proto::GraphProto& graph) {
  std::unordered_map<std::string_view, std::size_t> last;
  std::vector<std::size_t> overridden;
  for (int i = 0; i < graph.node_size(); ++i) {
    if (!is_constant(graph.node(i))) continue;
    const auto [known, is_new] = last.emplace(graph.node(i).output(0), static_cast<std::size_t>(i));
    if (is_new) continue;
    overridden.push_back(known->second);
    known->second = static_cast<std::size_t>(i);
  }
  if (overridden.empty()) return;
  last.clear();  // its keys point into nodes that are removed
  auto& nodes = *graph.mutable_node();
  std::vector<proto::NodeProto*> all(static_cast<std::size_t>(nodes.size()));
  nodes.ExtractSubrange(0, nodes.size(), all.data());
  for (const std::size_t index : overridden) delete std::exchange(all[index], nullptr);
  for (proto::NodeProto* node : all)
    if (node != nullptr) nodes.AddAllocated(node);
}

}  // namespace taso::onnx
