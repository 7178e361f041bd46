// taso-opt --annotate: notes in the written model which rule made a node, and of which nodes of the original.
#pragma once

#include "cli/details/changes.h"
#include "onnx/model/model.h"

namespace taso::cli {

/// Adds `taso.rule` and `taso.from` to nodes that the original does not have, or has with other operands. Returns how
/// many nodes got them.
std::size_t annotate(onnx::Model& model, const Details& details);

}  // namespace taso::cli
