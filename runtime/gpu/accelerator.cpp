#include "runtime/gpu/accelerator.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>

#include "runtime/gpu/cuda/layout.h"
#include "runtime/gpu/cuda/module.h"
#include "runtime/gpu/device.h"

namespace taso::gpu {

std::unique_ptr<Accelerator> open_accelerator(std::string& trouble, int device) {
  // The message of the probe is the clearest one, and the probe also refuses modules that are not ours.
  const std::filesystem::path module = find_cuda_module();
  if (module.empty()) {
    trouble = find_devices().trouble;
    return nullptr;
  }
  const DeviceReport report = find_devices(module);
  if (!report.trouble.empty()) {
    trouble = report.trouble;
    return nullptr;
  }
  if (device < 0 || static_cast<std::size_t>(device) >= report.cuda->devices.size()) {
    trouble = fmt::format("there is no GPU {}: this machine has {}", device, report.cuda->devices.size());
    return nullptr;
  }
  void* const library = dlopen(module.c_str(), RTLD_NOW | RTLD_LOCAL);  // never closed, as in find_devices
  const auto open =
      library == nullptr ? nullptr : reinterpret_cast<decltype(&taso_cuda_open)>(dlsym(library, "taso_cuda_open"));
  if (open == nullptr) {
    trouble = fmt::format("{} has no taso_cuda_open", module.string());
    return nullptr;
  }
  std::array<char, 512> reason{};
  void* const opened = open(border_layout, device, reason.data(), reason.size());
  if (opened == nullptr) trouble = reason.data();
  return std::unique_ptr<Accelerator>(static_cast<Accelerator*>(opened));
}

}  // namespace taso::gpu
