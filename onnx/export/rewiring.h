// Whether a node of an edited model is a node of the original with other operand names.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "onnx/model/messages.h"

namespace taso::onnx {

/// Pairs of names of values, in the original and in the edited model, that must be equal for two nodes to compute the
/// same.
using NamePairs = std::vector<std::pair<std::string, std::string>>;

/// The pairs of operand names, and of names that subgraphs capture. Nothing if the nodes differ in more than those
/// names and the names of their results.
std::optional<NamePairs> rewiring_of(const proto::NodeProto& original, const proto::NodeProto& edited);

}  // namespace taso::onnx
