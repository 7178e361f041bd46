// The frame of a model: everything outside of its nodes and weights, which no rewrite may change.
#pragma once

#include <string>

namespace taso::onnx {

class Model;

/// Returns the first difference between the frames of two models, or an empty text. The frame is the versions,
/// functions, inputs and outputs with types and defaults, and everything else except nodes, weights, the types of inner
/// values, and metadata whose keys begin with "taso.".
std::string frame_difference(const Model& before, const Model& after);

}  // namespace taso::onnx
