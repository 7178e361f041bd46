// The processor of this machine by its name, as prices of ONNX Runtime are kept.
#pragma once

#include <string>

namespace taso::cli {

/// "aarch64 Neoverse-V1"; only the architecture if lscpu does not tell more.
std::string processor_name();
/// The same with the first GPU: "x86_64 … with NVIDIA H200".
std::string processor_with_gpu();

}  // namespace taso::cli
