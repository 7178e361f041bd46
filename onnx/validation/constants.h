// Constant nodes that define one name twice: exporters' graph surgery leaves such, and ONNX Runtime lets the last
// count.
#pragma once

#include "onnx/model/messages.h"

namespace taso::onnx {

/// Of Constant nodes of one name, removes all but the last.
void drop_overridden_constants(proto::GraphProto& graph);

}  // namespace taso::onnx
