// A kernel as a small ONNX model, for measuring it in another runtime.
#pragma once

#include <cstddef>
#include <optional>

#include "cost/pricing/call.h"
#include "ops/graph/graph.h"

namespace taso::cli {

/// A graph with `copies` independent copies of the call: each has its own inputs, weights and results, so that no
/// optimiser merges them. Weights have random contents if `has_contents`, else none. Nothing if the call has no steps,
/// or steps whose sizes are known only at run time.
std::optional<Graph> graph_of(const cost::Call& call, std::size_t copies, bool has_contents);

}  // namespace taso::cli
