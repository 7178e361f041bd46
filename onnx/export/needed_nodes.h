// Which nodes of an edited model its outputs need, and removal of nodes that an edit made unnecessary.
#pragma once

#include <unordered_set>

#include "onnx/export/edit.h"

namespace taso::onnx {

/// The nodes that no graph output needs.
std::unordered_set<const proto::NodeProto*> needless_nodes(const GraphEdit& edit);
/// Removes nodes that no output needs, also new ones, except `kept` nodes and what these use.
void remove_needless_nodes(GraphEdit& edit, const std::unordered_set<const proto::NodeProto*>& kept);

}  // namespace taso::onnx
