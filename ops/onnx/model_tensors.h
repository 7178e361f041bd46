// Every tensor message of a model, wherever it hides.
#pragma once

#include <functional>

namespace onnx {
class ModelProto;
class TensorProto;
}  // namespace onnx

namespace taso {

/// Calls `visit` for every tensor: initializers, sparse ones, attributes, those of subgraphs, functions and training,
/// in the order of the message. `initializer` tells the dense initializers.
void for_each_tensor(onnx::ModelProto& model,
                     const std::function<void(onnx::TensorProto& tensor, bool initializer)>& visit);

}  // namespace taso
