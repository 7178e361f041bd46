// Visits every tensor message of a model.
#pragma once

#include <functional>

#include "onnx/model/messages.h"

namespace taso::onnx {

using VisitTensor = std::function<void(proto::TensorProto& tensor, bool initializer)>;

/// Calls `visit` for every tensor in the order of the message: initializers, sparse ones, attributes, and those of
/// subgraphs, functions and training. `initializer` marks dense initializers.
void for_each_tensor(proto::ModelProto& model, const VisitTensor& visit);

/// The same for a part of a model.
void for_each_tensor(proto::TrainingInfoProto& training, const VisitTensor& visit);
void for_each_tensor(proto::FunctionProto& function, const VisitTensor& visit);
void for_each_tensor(proto::NodeProto& node, const VisitTensor& visit);
void for_each_tensor(proto::SparseTensorProto& tensor, const VisitTensor& visit);
void for_each_tensor(proto::TensorProto& tensor, const VisitTensor& visit);

}  // namespace taso::onnx
