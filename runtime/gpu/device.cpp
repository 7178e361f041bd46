#include "runtime/gpu/device.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <atomic>
#include <cstdlib>

#include "ops/support/module_file.h"
#include "runtime/gpu/cuda/module.h"

namespace taso::gpu {

namespace {

constexpr const char* module_name = "libtaso_cuda.so";

/// CUDA encodes 13.2 as 13020.
std::string cuda_version(int number) {
  return number == 0 ? "" : fmt::format("{}.{}", number / 1000, number % 1000 / 10);
}

/// cuDNN encodes 9.19.0 as 91900 (8.9.7 as 8907: from version 9 on the first factor is 10000).
std::string cudnn_version(std::int64_t number) {
  if (number == 0) return "";
  const std::int64_t step = number >= 90000 ? 10000 : 1000;
  return fmt::format("{}.{}.{}", number / step, number % step / 100, number % 100);
}

std::string cublas_version(int number) {
  return number == 0 ? "" : fmt::format("{}.{}.{}", number / 10000, number % 10000 / 100, number % 100);
}

std::atomic<bool> is_open = false;

std::string first_line(std::string_view text) { return std::string(text.substr(0, text.find('\n'))); }

}  // namespace

std::filesystem::path find_cuda_module() {
  if (const char* named = std::getenv("TASO_CUDA_MODULE"); named != nullptr && *named != '\0') return named;
  return find_module(module_name);
}

bool module_is_open() { return is_open; }

DeviceReport find_devices() {
  const std::filesystem::path module = find_cuda_module();
  if (module.empty()) return {std::nullopt, "this build has no CUDA module"};
  return find_devices(module);
}

DeviceReport find_devices(const std::filesystem::path& module) {
  // Never closed: CUDA's libraries start threads and do not survive being unloaded.
  void* const library = dlopen(module.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const why = dlerror();
    return {std::nullopt, fmt::format("the CUDA module cannot be loaded: {}", why ? first_line(why) : module.string())};
  }
  is_open = true;
  const auto probe_function = reinterpret_cast<decltype(&taso_cuda_probe)>(dlsym(library, "taso_cuda_probe"));
  if (probe_function == nullptr) return {std::nullopt, fmt::format("{} is not a CUDA module of taso", module.string())};

  TasoCudaProbe probe{};
  probe_function(&probe);
  if (probe.interface_version != taso_cuda_interface) {
    return {std::nullopt, fmt::format("{} belongs to another version of this program", module.string())};
  }
  DeviceInfo info{cuda_version(probe.runtime), cuda_version(probe.driver), cudnn_version(probe.cudnn),
                  cublas_version(probe.cublas)};
  for (int device = 0; device < probe.device_count; ++device) info.devices.emplace_back(probe.device_names[device]);
  return {std::move(info), first_line(probe.trouble)};
}

std::string describe(const DeviceReport& report) {
  if (!report.cuda) return fmt::format("no CUDA ({})", report.trouble);
  std::vector<std::string> parts{"CUDA " + report.cuda->runtime};
  if (!report.cuda->cudnn.empty()) parts.push_back("cuDNN " + report.cuda->cudnn);
  if (!report.cuda->cublas.empty()) parts.push_back("cuBLAS " + report.cuda->cublas);
  if (!report.cuda->driver.empty()) parts.push_back("driver " + report.cuda->driver);
  for (const std::string& device : report.cuda->devices) parts.push_back(device);
  std::string line = fmt::format("{}", fmt::join(parts, ", "));
  if (!report.trouble.empty()) line += fmt::format(" ({})", report.trouble);
  return line;
}

}  // namespace taso::gpu
