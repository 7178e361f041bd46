// EPContext models: models in which ONNX Runtime keeps what a provider has prepared. Here that is an engine file for
// each fused node, inside the model or beside it.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "runtime/onnxruntime/graph.h"
#include "runtime/onnxruntime/session.h"

namespace taso::onnxruntime {

/// What the user wants to be written.
struct ContextOptions {
  bool is_wanted = false;
  bool is_embedded = false;
  std::filesystem::path model;  ///< the EPContext model; empty: named after the given model
};

using NodeHandle = std::unique_ptr<OrtNode, void (*)(OrtNode*)>;

/// Whether a node stands for an engine file of ours.
bool is_context(const OrtApi& api, const Node& node);
/// Writes the engine file of a fused node of `graph`, and makes the node that stands for it. Throws Failure.
NodeHandle write_context(const OrtApi& api, const ContextOptions& options, const OrtGraph& graph, const OrtNode& fused,
                         taso_session& session);
/// Loads the engine file of a node; `folder` is that of the model. Throws Failure.
Session read_context(const OrtApi& api, const Node& node, const std::filesystem::path& folder, const Loading& loading);

}  // namespace taso::onnxruntime
