#include "onnx/model/version.h"

#include <fmt/format.h>
#include <google/protobuf/stubs/common.h>

namespace taso::onnx {

std::string protobuf_version() {
  return fmt::format("{}.{}.{}", GOOGLE_PROTOBUF_VERSION / 1'000'000, GOOGLE_PROTOBUF_VERSION / 1000 % 1000,
                     GOOGLE_PROTOBUF_VERSION % 1000);
}

}  // namespace taso::onnx
