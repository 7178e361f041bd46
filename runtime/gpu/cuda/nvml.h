// The state of the device from the driver's management library, if that is installed.
#pragma once

#include "runtime/gpu/accelerator.h"

namespace taso::gpu::cuda {

class Nvml {
 public:
  /// Never throws: without the library the state is empty.
  explicit Nvml(const char* bus_id);
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;
  DeviceState state() const;

 private:
  void* library_ = nullptr;
  void* device_ = nullptr;
};

}  // namespace taso::gpu::cuda
