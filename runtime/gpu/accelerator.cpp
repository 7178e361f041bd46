#include "runtime/gpu/accelerator.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>

#include "runtime/gpu/cuda/layout.h"
#include "runtime/gpu/cuda/module.h"
#include "runtime/gpu/device.h"
#include "runtime/gpu/device_services.h"

namespace taso::gpu {
namespace {

/// Calls a function of the module that makes something for a GPU. Null, with the reason in `trouble`, if that fails.
void* open(const char* function, std::string& trouble, int device) {
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
  static_assert(std::is_same_v<decltype(&taso_cuda_open), decltype(&taso_cuda_services)>);
  const auto make =
      library == nullptr ? nullptr : reinterpret_cast<decltype(&taso_cuda_open)>(dlsym(library, function));
  if (make == nullptr) {
    trouble = fmt::format("{} has no {}", module.string(), function);
    return nullptr;
  }
  std::array<char, 512> reason{};
  void* const opened = make(border_layout, device, reason.data(), reason.size());
  if (opened == nullptr) trouble = reason.data();
  return opened;
}

}  // namespace

std::unique_ptr<Accelerator> open_accelerator(std::string& trouble, int device) {
  return std::unique_ptr<Accelerator>(static_cast<Accelerator*>(open("taso_cuda_open", trouble, device)));
}

std::unique_ptr<DeviceServices> open_device_services(std::string& trouble, int device) {
  return std::unique_ptr<DeviceServices>(static_cast<DeviceServices*>(open("taso_cuda_services", trouble, device)));
}

}  // namespace taso::gpu
