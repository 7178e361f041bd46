// The text of a node for a runtime that runs it by itself: see ops/graph/foreign_node.h.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "onnx/import/node_body.h"

namespace taso::onnx {

/// "MatMulInteger opset 13", "com.microsoft.FastGelu opset 1", "Gather opset 13{axis=1}", with the contents of small
/// integer operands behind it. Empty if the node needs more than its operands: a graph inside, or a function that the
/// model defines.
std::string text_of_foreign(const proto::NodeProto& node, std::int64_t opset, const std::filesystem::path& folder,
                            const Constants& constants);

}  // namespace taso::onnx
