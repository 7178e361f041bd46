// What the driver's management library says about the device, where it is installed.
#pragma once

#include "runtime/gpu/accelerator.h"

namespace taso::gpu::cuda {

class Nvml {
 public:
  /// Never throws: without the library nothing is known.
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
