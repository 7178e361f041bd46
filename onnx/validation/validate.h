// Refuses models that no runtime could run, and puts nodes in an order in which they can run.
#pragma once

#include <filesystem>

#include "onnx/model/messages.h"

namespace taso::onnx {

/// See Model::validate(). `folder` is where locations of external weights start from.
void validate(proto::ModelProto& model, const std::filesystem::path& folder);

}  // namespace taso::onnx
