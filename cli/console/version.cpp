#include "cli/console/version.h"

#include <fmt/format.h>
#include <openblas_config.h>

#include "cli/files/property_file.h"
#include "cli/files/rule_set.h"
#include "onnx/model/version.h"
#include "runtime/gpu/device.h"

extern "C" char* openblas_get_config(void);

namespace taso::cli {
namespace {

/// The library says "OpenBLAS 0.3.21 NO_AFFINITY …".
std::string openblas_version() {
  const std::string_view text = openblas_get_config();
  const std::size_t start = text.find(' ');
  if (start == std::string_view::npos) return std::string(text);
  return std::string(text.substr(start + 1, text.find(' ', start + 1) - start - 1));
}

std::string or_none(const std::string& version) { return version.empty() ? "none" : version; }

}  // namespace

std::string_view program_version() { return TASO_VERSION; }

std::string describe_versions(std::string_view program) {
  std::string text = fmt::format("{} {}\n", program, program_version());
  const auto line = [&](std::string_view name, std::string_view version) {
    text += fmt::format("{:<11}{}\n", name, version);
  };
  line("rules", describe_rules());
  line("properties", describe_properties());
  line("Z3", prover_version());
  line("ONNX", TASO_ONNX_VERSION);
  line("protobuf", onnx::protobuf_version());
  line("OpenBLAS", openblas_version());
  const gpu::DeviceReport found = gpu::find_devices();
  line("CUDA", found.cuda ? or_none(found.cuda->runtime) : fmt::format("none ({})", found.trouble));
  line("cuDNN", found.cuda ? or_none(found.cuda->cudnn) : "none");
  line("cuBLAS", found.cuda ? or_none(found.cuda->cublas) : "none");
  if (found.cuda) {
    line("driver", or_none(found.cuda->driver));
    for (const auto& device : found.cuda->devices) line("GPU", device);
  }
  return text;
}

}  // namespace taso::cli
