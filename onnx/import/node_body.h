// Runs ONNX nodes directly: through our operators if the operands fit, otherwise as host functions.
#pragma once

#include <filesystem>
#include <optional>

#include "onnx/model/messages.h"
#include "ops/graph/graph.h"
#include "runtime/host/interpreter.h"

namespace taso::onnx {

/// Why a node of this model cannot run here on any operands; empty if it can. For an If, both branches count.
std::string obstacle_of(const proto::ModelProto& model, const proto::NodeProto& node);
/// The same if no model defines operators itself and everything inside the node has its opset.
std::string obstacle_of(const proto::NodeProto& node, std::int64_t opset);
/// Whether equal operands give equal results, so that two such nodes can be merged. False for random operators, unknown
/// ones, and those with subgraphs.
bool is_deterministic(const proto::NodeProto& node, std::int64_t opset);

/// The results of one node from its operands, in the order of `operand_names`. Throws InputError if it cannot run on
/// these.
std::vector<Array> run_node(const proto::NodeProto& node, std::int64_t opset, const std::filesystem::path& folder,
                            const std::vector<std::optional<Array>>& inputs,
                            const runtime::InterpreterOptions& options = {});

/// The contents of operands that are constants, in the order of the operands; empty for the others.
using Constants = std::vector<std::optional<Array>>;

/// Makes the body of an opaque node. The node must outlive it; the model need not.
std::shared_ptr<const OpaqueBody> make_body(const proto::ModelProto& model, const proto::NodeProto& node,
                                            std::filesystem::path folder, Constants constants = {});
std::shared_ptr<const OpaqueBody> make_body(const proto::NodeProto& node, std::int64_t opset,
                                            std::filesystem::path folder);

/// What a body was made of.
struct BodyParts {
  const proto::NodeProto& node;
  std::int64_t opset;  ///< of the node's domain
  const std::filesystem::path& folder;
  const Constants& constants;
};
/// Nothing for bodies that make_body() did not make.
std::optional<BodyParts> parts_of(const OpaqueBody& body);

}  // namespace taso::onnx
