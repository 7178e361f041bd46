// Constant nodes that define one name twice. Exporters' graph surgery produces such models, and ONNX Runtime uses the
// last one.
#pragma once

#include "onnx/model/messages.h"

namespace taso::onnx {

/// Removes all but the last of Constant nodes with the same name.
void drop_overridden_constants(proto::GraphProto& graph);

}  // namespace taso::onnx
