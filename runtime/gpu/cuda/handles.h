// RAII wrappers for CUDA streams, events, graphs and memory; return codes become exceptions.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "ops/core/error.h"
#include "runtime/gpu/accelerator.h"

namespace taso::gpu::cuda {

/// Throws if a CUDA call failed. Clears the last error of CUDA, so that the next call does not report it again.
inline void require(cudaError_t status, std::string_view what) {
  if (status == cudaSuccess) return;
  cudaGetLastError();
  throw EnvironmentError("the GPU: " + std::string(what) + ": " + cudaGetErrorString(status));
}

/// Makes a GPU the current one of this thread, and the former one again at the end: callers have their own.
class DeviceGuard {
 public:
  explicit DeviceGuard(int device) {
    require(cudaGetDevice(&former_), "the current GPU");
    if (former_ != device) require(cudaSetDevice(device), "this GPU");
    is_changed_ = former_ != device;
  }
  ~DeviceGuard() {
    if (is_changed_) cudaSetDevice(former_);
  }
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;

 private:
  int former_ = 0;
  bool is_changed_ = false;
};

/// Memory on the device.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  explicit DeviceBuffer(std::size_t bytes, const DeviceMemory& from = {}) : bytes_(bytes), free_(from.free) {
    if (bytes == 0) return;
    const std::string what = std::to_string(bytes) + " bytes of memory";
    if (from.allocate) {
      memory_ = static_cast<std::byte*>(from.allocate(bytes));
      if (memory_ == nullptr) throw EnvironmentError("the caller's allocator has no " + what + " left on the GPU");
    } else {
      void* memory = nullptr;
      require(cudaMalloc(&memory, bytes), what);
      memory_ = static_cast<std::byte*>(memory);
    }
  }
  ~DeviceBuffer() {
    if (memory_ == nullptr) return;
    if (free_)
      free_(memory_, bytes_);
    else
      cudaFree(memory_);
  }
  DeviceBuffer(DeviceBuffer&& other) noexcept { *this = std::move(other); }
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(bytes_, other.bytes_);
    std::swap(free_, other.free_);
    return *this;
  }
  std::byte* get() const { return memory_; }
  std::size_t size() const { return bytes_; }

 private:
  std::byte* memory_ = nullptr;
  std::size_t bytes_ = 0;
  std::function<void(void*, std::size_t)> free_;
};

struct StreamEnd {
  void operator()(cudaStream_t stream) const { cudaStreamDestroy(stream); }
};
struct EventEnd {
  void operator()(cudaEvent_t event) const { cudaEventDestroy(event); }
};
struct GraphEnd {
  void operator()(cudaGraph_t graph) const { cudaGraphDestroy(graph); }
};
struct GraphExecutionEnd {
  void operator()(cudaGraphExec_t graph) const { cudaGraphExecDestroy(graph); }
};
using Stream = std::unique_ptr<std::remove_pointer_t<cudaStream_t>, StreamEnd>;
using Event = std::unique_ptr<std::remove_pointer_t<cudaEvent_t>, EventEnd>;
using Graph = std::unique_ptr<std::remove_pointer_t<cudaGraph_t>, GraphEnd>;
using GraphExecution = std::unique_ptr<std::remove_pointer_t<cudaGraphExec_t>, GraphExecutionEnd>;

inline Stream make_stream() {
  cudaStream_t stream = nullptr;
  require(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "a stream");
  return Stream(stream);
}

inline Event make_event() {
  cudaEvent_t event = nullptr;
  require(cudaEventCreate(&event), "an event");
  return Event(event);
}

/// An event without timing.
inline Event make_mark() {
  cudaEvent_t event = nullptr;
  require(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "an event");
  return Event(event);
}

/// Microseconds between two events that have happened.
inline double microseconds(const Event& from, const Event& to) {
  float milliseconds = 0;
  require(cudaEventElapsedTime(&milliseconds, from.get(), to.get()), "the time between two events");
  return static_cast<double>(milliseconds) * 1000;
}

/// Captures what `work` enqueues on the stream as a graph. If it throws, ends the capture and rethrows.
template <class Work>
Graph capture(cudaStream_t stream, Work&& work) {
  require(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "the start of a capture");
  cudaGraph_t graph = nullptr;
  try {
    work();
  } catch (...) {
    cudaStreamEndCapture(stream, &graph);
    cudaGetLastError();
    if (graph != nullptr) cudaGraphDestroy(graph);
    throw;
  }
  require(cudaStreamEndCapture(stream, &graph), "the end of a capture");
  return Graph(graph);
}

inline GraphExecution instantiate(const Graph& graph) {
  cudaGraphExec_t execution = nullptr;
  require(cudaGraphInstantiate(&execution, graph.get(), 0), "a graph");
  return GraphExecution(execution);
}

}  // namespace taso::gpu::cuda
