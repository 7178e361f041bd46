// Every tensor message of a model, wherever it hides.
#pragma once

#include <functional>

namespace onnx {
class FunctionProto;
class ModelProto;
class NodeProto;
class SparseTensorProto;
class TensorProto;
class TrainingInfoProto;
}  // namespace onnx

namespace taso {

using VisitTensor = std::function<void(onnx::TensorProto& tensor, bool initializer)>;

/// Calls `visit` for every tensor: initializers, sparse ones, attributes, those of subgraphs, functions and training,
/// in the order of the message. `initializer` tells the dense initializers.
void for_each_tensor(onnx::ModelProto& model, const VisitTensor& visit);

/// The same for a part of a model.
void for_each_tensor(onnx::TrainingInfoProto& training, const VisitTensor& visit);
void for_each_tensor(onnx::FunctionProto& function, const VisitTensor& visit);
void for_each_tensor(onnx::NodeProto& node, const VisitTensor& visit);
void for_each_tensor(onnx::SparseTensorProto& tensor, const VisitTensor& visit);
void for_each_tensor(onnx::TensorProto& tensor, const VisitTensor& visit);

}  // namespace taso
