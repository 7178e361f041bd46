// Refuses models that no runtime could run, and puts nodes in an order in which they can run.
#pragma once

#include <filesystem>

namespace onnx {
class ModelProto;
}  // namespace onnx

namespace taso {

/// See Model::validate(). `folder` is where locations of external weights start from.
void validate(onnx::ModelProto& model, const std::filesystem::path& folder);

}  // namespace taso
