// ONNX's messages by name, for headers that only pass them on, and the name under which we speak of them: inside of
// taso, `onnx` is our own room.
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
