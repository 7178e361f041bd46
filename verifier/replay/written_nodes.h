// Checks that the nodes that a model has gained are valid ONNX: the importer may ignore part of what a node says.
#pragma once

#include <string>

#include "onnx/model/model.h"

namespace taso::verifier {

/// Nodes of `after` that equal some node of `before` or of its branches, except for names, are not checked: what came
/// in may go out. Any other node must be of a kind that rewriting writes, with attributes that ONNX knows for it at the
/// model's opset and values that it allows, with paddings either listed or left to be inferred, with the operands and
/// results that ONNX has for it, and with nothing else. If `may_use_onnxruntime`, it may also be of a kind that only
/// ONNX Runtime has. Returns what is wrong with the first node that breaks this; empty if none does. Both models are
/// valid.
std::string trouble_with_new_nodes(const onnx::Model& before, const onnx::Model& after, bool may_use_onnxruntime);

/// What a tensor made by a rewrite contains beyond its name and numbers; empty if nothing.
std::string trouble_with_new_tensor(const proto::TensorProto& tensor);

}  // namespace taso::verifier
