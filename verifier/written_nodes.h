// Whether the nodes that a model has gained are as ONNX has them: what we read of a node may leave out what it says beyond.
#pragma once

#include <string>

#include "ops/onnx/model.h"

namespace taso {

/// Nodes of `after` that say no more than some node of `before` are not looked at: what came in may go out. Any other has to
/// be of a kind that is written, with attributes that ONNX knows for it at the model's opset, with paddings that are either
/// listed or left to be found, and without operands beyond those that ONNX has for it. Returns what is wrong with the first
/// that is not so; empty if none is. Both models are valid.
std::string trouble_with_new_nodes(const Model& before, const Model& after);

}  // namespace taso
