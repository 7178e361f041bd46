// When a node of an edited model is one of the original, but for the names of the values that it takes.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "onnx/model/messages.h"

namespace taso::onnx {

/// Names of values that must be equal for two nodes to compute the same: the original's, and the edited model's.
using NamePairs = std::vector<std::pair<std::string, std::string>>;

/// What the operands and the values that subgraphs capture have become; nothing if the nodes differ in anything else than
/// those names and the names of their results.
std::optional<NamePairs> rewiring_of(const proto::NodeProto& original, const proto::NodeProto& edited);

}  // namespace taso::onnx
