// Whether the nodes that a model has gained are valid ONNX: the importer may ignore part of what a node says.
#pragma once

#include <string>

#include "onnx/model/model.h"

namespace taso::verifier {

/// Nodes of `after` that say the same as some node of `before`, but for names, are not looked at: what came in may go
/// out. Any other has to be of a kind that is written, with attributes that ONNX knows for it at the model's opset and
/// values that it allows, with paddings that are either listed or left to be found, with the operands and results that
/// ONNX has for it, and has to say nothing else. Returns what is wrong with the first that is not so; empty if none is.
/// Both models are valid.
std::string trouble_with_new_nodes(const onnx::Model& before, const onnx::Model& after);

/// What a tensor that a rewriting has made says beyond its name and numbers; empty if nothing.
std::string trouble_with_new_tensor(const proto::TensorProto& tensor);

}  // namespace taso::verifier
