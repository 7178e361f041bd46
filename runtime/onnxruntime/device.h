// Device memory as ONNX Runtime wants it: allocators, copies, streams and the events between them. All of it comes from
// libtaso.
#pragma once

#include <map>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/onnxruntime/status.h"

namespace taso::onnxruntime {

constexpr std::uint32_t nvidia = 0x10de;  // of PCI

/// Device memory, or memory of the host that copies use without a detour. Memory that a run needs on a stream is kept
/// for later runs there, because asking the driver takes longer than a small network.
class Allocator : public OrtAllocator {
 public:
  /// `memory` must outlive it.
  Allocator(const Runtime& runtime, const OrtMemoryInfo& memory, int device, taso_place place);
  Allocator(const Allocator&) = delete;
  Allocator& operator=(const Allocator&) = delete;
  ~Allocator();

 private:
  struct Block {
    std::size_t bytes = 0;
    void* stream = nullptr;  ///< null: none, and the memory is not kept
  };
  void* allocate(std::size_t bytes, void* stream) noexcept;
  void free(void* memory) noexcept;
  void* take(std::size_t bytes, void* stream);
  void drop_idle() noexcept;

  const OrtApi& api_;
  const OrtMemoryInfo& memory_;
  int device_;
  taso_place place_;
  std::mutex guard_;
  std::unordered_map<void*, Block> used_;
  std::map<std::pair<void*, std::size_t>, std::vector<void*>> idle_;  // by stream and size
};

/// Copies between memory of GPUs and of the host.
class Transfer : public OrtDataTransferImpl {
 public:
  explicit Transfer(const Runtime& runtime);

 private:
  bool can_copy(const OrtMemoryDevice& from, const OrtMemoryDevice& to) const;
  void copy(const OrtValue** from, OrtValue** to, OrtSyncStream** streams, std::size_t count) const;

  Runtime runtime_;
};

/// A stream of a session.
class Stream : public OrtSyncStreamImpl {
 public:
  /// Throws Failure.
  Stream(const Runtime& runtime, int device);
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream();

 private:
  Runtime runtime_;
  int device_;
  void* stream_ = nullptr;
};

}  // namespace taso::onnxruntime
