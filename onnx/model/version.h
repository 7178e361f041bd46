// Which protobuf the models are read with, for `--version`.
#pragma once

#include <string>

namespace taso::onnx {

std::string protobuf_version();

}  // namespace taso::onnx
