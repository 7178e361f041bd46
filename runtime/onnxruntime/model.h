// Writes parts of a graph as ONNX models.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "runtime/onnxruntime/graph.h"
#include "runtime/onnxruntime/message.h"

namespace taso::onnxruntime {

/// A model of some nodes of a graph. Constants that nodes read and that are not among `inputs` become initializers.
/// Throws Failure if it would be too large for one message.
std::string write_model(const OrtApi& api, const Graph& graph, std::span<const Node* const> nodes,
                        const std::vector<std::string>& inputs, const std::vector<std::string>& outputs);

/// A model of one node with names that do not depend on those of the graph, so that alike nodes give equal models. It
/// has small constants only; others become inputs.
std::string write_sample(const OrtApi& api, const Graph& graph, const Node& node);

/// A GraphProto, for an attribute.
Message write_subgraph(const OrtApi& api, const OrtGraph& graph);

/// A TensorProto with its content.
Message write_tensor(std::string_view name, const TensorView& tensor);

}  // namespace taso::onnxruntime
