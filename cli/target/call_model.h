// A kernel as a small ONNX model, for measuring it in another runtime.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "cost/pricing/call.h"
#include "onnx/model/model.h"

namespace taso::cli {

/// Whether a call can be written as a model: it has steps or a foreign node, and all sizes are known.
bool has_model(const cost::Call& call);

/// A model with `copies` independent copies of the call: each has its own inputs, weights and results, so that no
/// optimiser merges them. Weights have random contents, except for those that a foreign node's result depends on. The
/// model has that opset; a foreign node has its own. Throws InputError.
onnx::Model model_of(const cost::Call& call, std::size_t copies, std::int64_t opset);

}  // namespace taso::cli
