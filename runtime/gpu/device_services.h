// Memory, streams and events of a GPU for callers that do not link CUDA themselves. The CUDA module implements it.
// Unlike an Accelerator it needs no libraries, and opening it costs nothing.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

namespace taso::gpu {

/// All functions throw EnvironmentError, and several threads may call them. Streams are cudaStream_t, and null is the
/// default stream; events are cudaEvent_t.
class DeviceServices {
 public:
  virtual ~DeviceServices() = default;
  virtual std::string name() const = 0;
  virtual std::size_t memory_bytes() const = 0;
  /// Device memory, or memory of the host that the GPU reads and writes without a detour.
  virtual void* allocate(std::size_t bytes, bool is_on_host) = 0;
  /// Waits until the GPU does not use it any more.
  virtual void free(void* memory, bool is_on_host) = 0;
  /// Queues a copy between any two places. Host memory that is not from allocate() may be changed when it returns.
  virtual void copy(void* to, const void* from, std::size_t bytes, void* stream) = 0;
  /// The stream takes its turn with the default stream, so that a caller need not know about it.
  virtual void* make_stream() = 0;
  virtual void end_stream(void* stream) = 0;
  virtual void wait(void* stream) = 0;
  /// For the default stream, and so for all streams that take turns with it.
  virtual void wait_for_all() = 0;
  virtual void* make_event() = 0;
  virtual void end_event(void* event) = 0;
  virtual void record(void* event, void* stream) = 0;
  virtual void wait_for_event(void* event) = 0;
  /// Work that is queued on the stream later waits for the event.
  virtual void queue_wait(void* stream, void* event) = 0;
};

/// By the number of the GPU in CUDA's order; null, with the reason in `trouble`, if there is none.
std::unique_ptr<DeviceServices> open_device_services(std::string& trouble, int device);

}  // namespace taso::gpu
