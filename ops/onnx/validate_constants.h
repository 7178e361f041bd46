// Constants that are defined twice: exporters' graph surgery leaves such, and runtimes let the last definition count.
#pragma once

namespace onnx {
class GraphProto;
}  // namespace onnx

namespace taso {

/// Of initializers and Constant nodes of one name, removes all but the last; a Constant node counts after every
/// initializer, as in ONNX Runtime. Without them every name has one definition again.
void drop_overridden_constants(onnx::GraphProto& graph);

}  // namespace taso
