// Memory, streams and events for callers without CUDA.
#include "runtime/gpu/device_services.h"

#include <cuda_runtime_api.h>

#include "runtime/gpu/cuda/handles.h"
#include "runtime/gpu/cuda/layout.h"
#include "runtime/gpu/cuda/module.h"

namespace taso::gpu::cuda {
namespace {

class CudaServices : public DeviceServices {
 public:
  explicit CudaServices(int device) : device_(device) {}

  std::string name() const override {
    cudaDeviceProp properties{};
    require(cudaGetDeviceProperties(&properties, device_), "its name");
    return properties.name;
  }
  std::size_t memory_bytes() const override {
    cudaDeviceProp properties{};
    require(cudaGetDeviceProperties(&properties, device_), "its memory");
    return properties.totalGlobalMem;
  }
  void* allocate(std::size_t bytes, bool is_on_host) override {
    const DeviceGuard guard(device_);
    void* memory = nullptr;
    require(is_on_host ? cudaHostAlloc(&memory, bytes, cudaHostAllocPortable) : cudaMalloc(&memory, bytes),
            std::to_string(bytes) + " bytes of memory");
    return memory;
  }
  void free(void* memory, bool is_on_host) override {
    const DeviceGuard guard(device_);
    require(is_on_host ? cudaFreeHost(memory) : cudaFree(memory), "memory that is freed");
  }
  void copy(void* to, const void* from, std::size_t bytes, void* stream) override {
    const DeviceGuard guard(device_);
    require(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, queue(stream)), "a copy");
  }
  void* make_stream() override {
    const DeviceGuard guard(device_);
    cudaStream_t stream = nullptr;
    require(cudaStreamCreateWithFlags(&stream, cudaStreamDefault), "a stream");
    return stream;
  }
  void end_stream(void* stream) override {
    const DeviceGuard guard(device_);
    require(cudaStreamDestroy(queue(stream)), "a stream");
  }
  void wait(void* stream) override {
    const DeviceGuard guard(device_);
    require(cudaStreamSynchronize(queue(stream)), "a stream");
  }
  void wait_for_all() override {
    // The default stream waits for the others. Waiting for the device would break graphs that other threads capture.
    const DeviceGuard guard(device_);
    const Event event = make_mark();
    require(cudaEventRecord(event.get(), cudaStreamLegacy), "an event");
    require(cudaEventSynchronize(event.get()), "its work");
  }
  void* make_event() override {
    const DeviceGuard guard(device_);
    return make_mark().release();
  }
  void end_event(void* event) override {
    const DeviceGuard guard(device_);
    require(cudaEventDestroy(static_cast<cudaEvent_t>(event)), "an event");
  }
  void record(void* event, void* stream) override {
    const DeviceGuard guard(device_);
    require(cudaEventRecord(static_cast<cudaEvent_t>(event), queue(stream)), "an event");
  }
  void wait_for_event(void* event) override {
    const DeviceGuard guard(device_);
    require(cudaEventSynchronize(static_cast<cudaEvent_t>(event)), "an event");
  }
  void queue_wait(void* stream, void* event) override {
    const DeviceGuard guard(device_);
    require(cudaStreamWaitEvent(queue(stream), static_cast<cudaEvent_t>(event), 0), "an event");
  }

 private:
  static cudaStream_t queue(void* stream) { return static_cast<cudaStream_t>(stream); }

  int device_;
};

}  // namespace
}  // namespace taso::gpu::cuda

extern "C" __attribute__((visibility("default"))) void* taso_cuda_services(std::uint64_t layout, std::int32_t device,
                                                                           char* trouble, std::size_t trouble_size) {
  return taso::gpu::made_at_border(layout, trouble, trouble_size, [&]() -> taso::gpu::DeviceServices* {
    return new taso::gpu::cuda::CudaServices(device);
  });
}
