// Notes on nodes about where they come from, for people who look at the model: in the nodes' metadata where the model's
// IR version has it (10 and newer), else in their documentation. They compute nothing.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "onnx/model/model.h"

namespace taso::onnx {

/// Adds "taso.…" entries to a node. A node's own documentation is never replaced: then nothing is added below IR 10.
void annotate(proto::NodeProto& node, const std::vector<std::pair<std::string, std::string>>& entries,
              bool has_metadata);
/// Whether the nodes of a model have metadata.
bool nodes_have_metadata(const proto::ModelProto& model);
/// Removes all entries that annotate() added, from the nodes of the main graph.
void remove_annotations(Model& model);

}  // namespace taso::onnx
