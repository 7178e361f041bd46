// The version of protobuf with which models are read, for `--version`.
#pragma once

#include <string>

namespace taso::onnx {

std::string protobuf_version();

}  // namespace taso::onnx
