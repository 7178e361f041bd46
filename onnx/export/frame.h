// The frame of a model: everything outside of its nodes and weights, which no rewrite may change.
#pragma once

#include <string>

namespace taso::onnx {

class Model;

/// Returns the first difference between the frames of two models, or an empty text. The frame is the versions,
/// functions, inputs and outputs with types and defaults, and everything else except nodes, weights, the types of inner
/// values, and metadata whose keys begin with "taso.".
/// If `may_use_onnxruntime`, the second model may import the domain of ONNX Runtime's own operators in addition.
std::string frame_difference(const Model& before, const Model& after, bool may_use_onnxruntime = false);

}  // namespace taso::onnx
