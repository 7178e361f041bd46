#include "runtime/gpu/cuda/nvml.h"

#include <dlfcn.h>

namespace taso::gpu::cuda {

namespace {

constexpr int success = 0;
constexpr int gpu_temperature = 0, sm_clock = 1;

template <class Function>
Function* function_named(void* library, const char* name) {
  return library == nullptr ? nullptr : reinterpret_cast<Function*>(dlsym(library, name));
}

}  // namespace

Nvml::Nvml(const char* bus_id) {
  library_ = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  auto* const begin = function_named<int()>(library_, "nvmlInit_v2");
  auto* const find = function_named<int(const char*, void**)>(library_, "nvmlDeviceGetHandleByPciBusId_v2");
  if (begin == nullptr || find == nullptr || begin() != success) {
    if (library_ != nullptr) dlclose(library_);
    library_ = nullptr;
    return;
  }
  if (find(bus_id, &device_) != success) device_ = nullptr;
}

Nvml::~Nvml() {
  if (auto* const end = function_named<int()>(library_, "nvmlShutdown")) end();
  if (library_ != nullptr) dlclose(library_);
}

DeviceState Nvml::state() const {
  DeviceState state;
  if (device_ == nullptr) return state;
  unsigned value = 0;
  if (auto* const power = function_named<int(void*, unsigned*)>(library_, "nvmlDeviceGetPowerUsage");
      power != nullptr && power(device_, &value) == success)
    state.watts = value / 1000.0;
  if (auto* const heat = function_named<int(void*, int, unsigned*)>(library_, "nvmlDeviceGetTemperature");
      heat != nullptr && heat(device_, gpu_temperature, &value) == success)
    state.celsius = value;
  if (auto* const clock = function_named<int(void*, int, unsigned*)>(library_, "nvmlDeviceGetClockInfo");
      clock != nullptr && clock(device_, sm_clock, &value) == success)
    state.megahertz = value;
  return state;
}

}  // namespace taso::gpu::cuda
