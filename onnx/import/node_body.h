// ONNX nodes that run as they are: through our operators if their operands turn out to fit, else as host functions.
#pragma once

#include <filesystem>

#include "onnx/model/messages.h"
#include "ops/graph/graph.h"
#include "runtime/host/interpreter.h"

namespace taso::onnx {

/// Why a node of this model cannot be run here, whatever its operands; empty if it can. Of an If, what is inside it counts,
/// in both branches.
std::string obstacle_of(const proto::ModelProto& model, const proto::NodeProto& node);
/// The same where no model defines operators itself, and all that is inside the node is of its opset.
std::string obstacle_of(const proto::NodeProto& node, std::int64_t opset);
/// Whether equal operands give equal results, so that two such nodes may become one: never for random operators,
/// unknown ones, or those with subgraphs.
bool is_deterministic(const proto::NodeProto& node, std::int64_t opset);

/// The results of one node, from its operands as import lists them (`places_of_operands`). Throws InputError when it cannot
/// be run on these.
std::vector<Array> run_node(const proto::NodeProto& node, std::int64_t opset, const std::filesystem::path& folder,
                            const std::vector<std::optional<Array>>& inputs,
                            const runtime::InterpreterOptions& options = {});

/// The node must outlive the body; the model need not.
std::shared_ptr<const OpaqueBody> make_body(const proto::ModelProto& model, const proto::NodeProto& node,
                                            std::filesystem::path folder);
std::shared_ptr<const OpaqueBody> make_body(const proto::NodeProto& node, std::int64_t opset,
                                            std::filesystem::path folder);

}  // namespace taso::onnx
