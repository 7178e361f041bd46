// Forward declarations of ONNX's messages, and the name `proto` for their namespace: inside taso, `onnx` is our own
// layer.
#pragma once

namespace onnx {
class AttributeProto;
class FunctionProto;
class GraphProto;
class ModelProto;
class NodeProto;
class SparseTensorProto;
class TensorProto;
class TrainingInfoProto;
class ValueInfoProto;
}  // namespace onnx

namespace taso {
namespace proto = ::onnx;
}
