// Rejects models that no runtime could run, and sorts nodes into an order in which they can run.
#pragma once

#include <filesystem>

#include "onnx/model/messages.h"

namespace taso::onnx {

/// See Model::validate(). Locations of external weights are relative to `folder`.
void validate(proto::ModelProto& model, const std::filesystem::path& folder);

}  // namespace taso::onnx
