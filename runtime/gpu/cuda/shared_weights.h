// Weights on the device. Programs with the same weights share them: sessions of one model. (The plans of one session
// share single weights, see gpu/known_weights.h.)
#pragma once

#include <memory>
#include <vector>

#include "runtime/gpu/accelerator.h"
#include "runtime/gpu/cuda/handles.h"

namespace taso::gpu::cuda {

struct Weights : WeightBlock {
  Weights(std::vector<std::byte> bytes, DeviceBuffer buffer)
      : on_host(std::move(bytes)), on_device(std::move(buffer)) {}
  std::vector<std::byte> on_host;  ///< for steps on the host, and to recognise them
  DeviceBuffer on_device;
};

class SharedWeights {
 public:
  /// The same as an earlier program's, if that still exists. Those in memory of a caller are not shared.
  std::shared_ptr<const Weights> get(std::vector<std::byte> bytes, const DeviceMemory& memory);

 private:
  std::vector<std::weak_ptr<const Weights>> all_;
};

}  // namespace taso::gpu::cuda
