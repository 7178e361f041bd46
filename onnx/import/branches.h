// The branches of If: runs the one that is taken, and infers what can be known of the results before.
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

/// The branches of ONNX's If, which belong to the node. Nothing for other nodes, or if a branch is missing.
std::optional<Branches> branches_of(const proto::NodeProto& node);

/// The value of a condition; nothing if it is not a single boolean.
std::optional<bool> truth_of(const Array& condition);

/// The results of the branch that the condition selects. The nodes inside have the opset of the node. The operands are
/// those that the node lists, then the captured ones. Throws InputError.
std::vector<Array> run_branches(const Branches& branches, const proto::NodeProto& node, std::int64_t opset,
                                const std::filesystem::path& folder, const std::vector<std::optional<Array>>& operands,
                                const runtime::InterpreterOptions& options);

/// Types and shapes on which both branches agree, or those of the taken branch if the condition is known; no contents.
/// Only for nodes without an obstacle, which have one opset. `operands` as above, null where one is omitted.
std::vector<runtime::Fact> infer_branches(const Branches& branches, const proto::NodeProto& node, std::int64_t opset,
                                          const std::filesystem::path& folder,
                                          const std::vector<const runtime::Fact*>& operands, std::size_t outputs);

/// What a constant tells: its type and, if it is small, its numbers.
runtime::Fact fact_of(const proto::TensorProto& tensor, const std::filesystem::path& folder);

}  // namespace taso::onnx
