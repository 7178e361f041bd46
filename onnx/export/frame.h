// What a model says of itself outside of its nodes: what no rewrite may change.
#pragma once

#include <string>

namespace taso::onnx {

class Model;

/// Empty if both models have the same versions, functions, inputs and outputs with the same types and defaults, and say the
/// same in all else but nodes, weights, the types of values inside, and metadata whose keys begin with "taso."; otherwise what
/// differs first.
std::string frame_difference(const Model& before, const Model& after);

}  // namespace taso::onnx
