#include "runtime/session/shared_gpu.h"

#include <map>
#include <mutex>

namespace taso::runtime {

std::shared_ptr<gpu::Accelerator> shared_gpu(int device, std::string& trouble) {
  static std::mutex guard;
  static std::map<int, std::weak_ptr<gpu::Accelerator>> opened;
  const std::lock_guard lock(guard);
  std::shared_ptr<gpu::Accelerator> gpu = opened[device].lock();
  if (!gpu) {
    gpu = gpu::open_accelerator(trouble, device);
    opened[device] = gpu;
  }
  return gpu;
}

}  // namespace taso::runtime
