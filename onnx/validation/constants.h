// Constant nodes that define one name twice: exporters' graph surgery leaves such, and ONNX Runtime lets the last
// count.
#pragma once

namespace onnx {
class GraphProto;
}  // namespace onnx

namespace taso {

/// Of Constant nodes of one name, removes all but the last.
void drop_overridden_constants(onnx::GraphProto& graph);

}  // namespace taso
