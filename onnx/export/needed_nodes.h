// Which nodes of an edited model its outputs need, and the removal of those that an edit made needless.
#pragma once

#include <unordered_set>

#include "onnx/export/edit.h"

namespace taso::onnx {

/// The nodes that no graph output needs.
std::unordered_set<const proto::NodeProto*> needless_nodes(const GraphEdit& edit);
/// Removes the nodes that nobody needs, new ones among them, except for those that are to be kept, and for what these
/// use.
void remove_needless_nodes(GraphEdit& edit, const std::unordered_set<const proto::NodeProto*>& kept);

}  // namespace taso::onnx
