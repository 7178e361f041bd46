// The branches of If: running the one that is taken, and what can be known of the results before.
#pragma once

#include <filesystem>

#include "onnx/model/messages.h"
#include "runtime/host/inference/inference.h"
#include "runtime/host/interpreter.h"

namespace taso::onnx {

struct Branches {
  const proto::GraphProto* then_branch;
  const proto::GraphProto* else_branch;
};

/// Those of ONNX's If; nothing for other nodes, and where a branch is missing. They belong to the node.
std::optional<Branches> branches_of(const proto::NodeProto& node);

/// The results of the branch that the condition names. What is inside is of the node's opset. Operands are those that the node
/// lists, then the captured ones. Throws InputError.
std::vector<Array> run_branches(const Branches& branches, const proto::NodeProto& node, std::int64_t opset,
                                const std::filesystem::path& folder, const std::vector<std::optional<Array>>& operands,
                                const runtime::InterpreterOptions& options);

/// What both branches agree on, or what the one says that is taken where the condition is known: types and shapes, no contents.
/// For nodes without an obstacle only, which are of one opset. `operands` as above, null where one is left out.
std::vector<runtime::Fact> infer_branches(const Branches& branches, const proto::NodeProto& node, std::int64_t opset,
                                          const std::filesystem::path& folder,
                                          const std::vector<const runtime::Fact*>& operands, std::size_t outputs);

/// What a constant tells: also its numbers, if they are few.
runtime::Fact fact_of(const proto::TensorProto& tensor, const std::filesystem::path& folder);

}  // namespace taso::onnx
