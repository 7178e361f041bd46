#include "runtime/onnxruntime/device.h"

#include <memory>

namespace taso::onnxruntime {
namespace {

/// Sizes that are used again: at most an eighth is wasted.
std::size_t rounded(std::size_t bytes) {
  std::size_t step = 512;
  while (step * 16 <= bytes) step *= 2;
  return (bytes + step - 1) / step * step;
}

/// An event between two streams.
class Notification : public OrtSyncNotificationImpl {
 public:
  Notification(const Runtime& runtime, int device, void* stream)
      : OrtSyncNotificationImpl{}, runtime_(runtime), device_(device), stream_(stream) {
    require(taso_event_create(device, &event_));
    ort_version_supported = runtime.version;
    OrtSyncNotificationImpl::Release = [](OrtSyncNotificationImpl* self) noexcept {
      delete static_cast<Notification*>(self);
    };
    Activate = [](OrtSyncNotificationImpl* self) noexcept {
      const auto& one = *static_cast<Notification*>(self);
      return guarded(one.runtime_.api, [&] { require(taso_event_record(one.device_, one.event_, one.stream_)); });
    };
    WaitOnDevice = [](OrtSyncNotificationImpl* self, OrtSyncStream* consumer) noexcept {
      const auto& one = *static_cast<Notification*>(self);
      return guarded(one.runtime_.api, [&] {
        void* const waiting = one.runtime_.api.SyncStream_GetHandle(consumer);
        require(taso_stream_wait_event(one.device_, waiting, one.event_));
      });
    };
    WaitOnHost = [](OrtSyncNotificationImpl* self) noexcept {
      const auto& one = *static_cast<Notification*>(self);
      return guarded(one.runtime_.api, [&] { require(taso_event_wait(one.device_, one.event_)); });
    };
  }
  Notification(const Notification&) = delete;
  Notification& operator=(const Notification&) = delete;
  ~Notification() { taso_event_destroy(device_, event_); }

 private:
  Runtime runtime_;
  int device_;
  void* stream_;
  void* event_ = nullptr;
};

}  // namespace

Allocator::Allocator(const Runtime& runtime, const OrtMemoryInfo& memory, int device, taso_place place)
    : OrtAllocator{}, api_(runtime.api), memory_(memory), device_(device), place_(place) {
  version = runtime.version;
  Alloc = [](OrtAllocator* self, std::size_t bytes) noexcept {
    return static_cast<Allocator*>(self)->allocate(bytes, nullptr);
  };
  Free = [](OrtAllocator* self, void* block) noexcept { static_cast<Allocator*>(self)->free(block); };
  Info = [](const OrtAllocator* self) noexcept { return &static_cast<const Allocator*>(self)->memory_; };
  AllocOnStream = [](OrtAllocator* self, std::size_t bytes, OrtSyncStream* stream) noexcept {
    auto& allocator = *static_cast<Allocator*>(self);
    return allocator.allocate(bytes, stream == nullptr ? nullptr : allocator.api_.SyncStream_GetHandle(stream));
  };
}

Allocator::~Allocator() { drop_idle(); }

void* Allocator::take(std::size_t bytes, void* stream) {
  if (stream == nullptr) return nullptr;
  // The work that used the memory last is queued on the same stream: the next user comes after it.
  const auto found = idle_.find({stream, bytes});
  if (found == idle_.end() || found->second.empty()) return nullptr;
  void* const memory = found->second.back();
  found->second.pop_back();
  return memory;
}

void* Allocator::allocate(std::size_t bytes, void* stream) noexcept {
  if (bytes == 0) return nullptr;
  try {
    const std::lock_guard lock(guard_);
    const std::size_t wanted = stream == nullptr ? bytes : rounded(bytes);
    void* memory = take(wanted, stream);
    if (memory == nullptr && taso_device_allocate(device_, place_, wanted, &memory) != TASO_OK) {
      drop_idle();
      if (taso_device_allocate(device_, place_, wanted, &memory) != TASO_OK) return nullptr;
    }
    try {
      used_[memory] = {wanted, stream};
    } catch (...) {
      taso_device_free(device_, place_, memory);
      throw;
    }
    return memory;
  } catch (...) {
    return nullptr;  // ONNX Runtime says so
  }
}

void Allocator::free(void* memory) noexcept {
  if (memory == nullptr) return;
  const std::lock_guard lock(guard_);
  const auto found = used_.find(memory);
  if (found == used_.end()) return;
  const Block block = found->second;
  used_.erase(found);
  try {
    if (block.stream != nullptr) {
      idle_[{block.stream, block.bytes}].push_back(memory);
      return;
    }
  } catch (...) {  // no memory for the list
  }
  taso_device_free(device_, place_, memory);
}

void Allocator::drop_idle() noexcept {
  for (const auto& [key, list] : idle_)
    for (void* const memory : list) taso_device_free(device_, place_, memory);
  idle_.clear();
}

Transfer::Transfer(const Runtime& runtime) : OrtDataTransferImpl{}, runtime_(runtime) {
  ort_version_supported = runtime.version;
  OrtDataTransferImpl::Release = [](OrtDataTransferImpl* self) noexcept { delete static_cast<Transfer*>(self); };
  CanCopy = [](const OrtDataTransferImpl* self, const OrtMemoryDevice* from, const OrtMemoryDevice* to) noexcept {
    return static_cast<const Transfer*>(self)->can_copy(*from, *to);
  };
  CopyTensors = [](OrtDataTransferImpl* self, const OrtValue** from, OrtValue** to, OrtSyncStream** streams,
                   std::size_t count) noexcept {
    const auto& transfer = *static_cast<Transfer*>(self);
    return guarded(transfer.runtime_.api, [&] { transfer.copy(from, to, streams, count); });
  };
}

bool Transfer::can_copy(const OrtMemoryDevice& from, const OrtMemoryDevice& to) const {
  const OrtEpApi& devices = runtime_.provider_api;
  const auto is_cpu = [&](const OrtMemoryDevice& one) {
    return devices.MemoryDevice_GetDeviceType(&one) == OrtMemoryInfoDeviceType_CPU;
  };
  const auto is_gpu = [&](const OrtMemoryDevice& one) {
    return devices.MemoryDevice_GetDeviceType(&one) == OrtMemoryInfoDeviceType_GPU &&
           devices.MemoryDevice_GetVendorId(&one) == nvidia;
  };
  return (is_gpu(from) && (is_gpu(to) || is_cpu(to))) || (is_cpu(from) && is_gpu(to));
}

void Transfer::copy(const OrtValue** from, OrtValue** to, OrtSyncStream** streams, std::size_t count) const {
  const OrtApi& api = runtime_.api;
  const OrtEpApi& devices = runtime_.provider_api;
  int awaited = -1;  // the GPU whose default stream has copies
  for (std::size_t i = 0; i < count; ++i) {
    const OrtMemoryDevice* const source = devices.Value_GetMemoryDevice(from[i]);
    const OrtMemoryDevice* const target = devices.Value_GetMemoryDevice(to[i]);
    if (source == nullptr || target == nullptr) throw Failure(ORT_NOT_IMPLEMENTED, "only tensors can be copied");
    const bool is_from_gpu = devices.MemoryDevice_GetDeviceType(source) == OrtMemoryInfoDeviceType_GPU;
    const auto device = static_cast<int>(devices.MemoryDevice_GetDeviceId(is_from_gpu ? source : target));
    const auto bytes = ask<std::size_t>(api, api.GetTensorSizeInBytes, from[i]);
    if (bytes != ask<std::size_t>(api, api.GetTensorSizeInBytes, to[i]))
      throw Failure(ORT_INVALID_ARGUMENT, "a tensor is copied to one of another size");
    OrtSyncStream* const given = streams == nullptr ? nullptr : streams[i];
    void* const stream = given == nullptr ? nullptr : api.SyncStream_GetHandle(given);
    require(taso_device_copy(device, ask<void*>(api, api.GetTensorMutableData, to[i]),
                             ask<const void*>(api, api.GetTensorData, from[i]), bytes, stream));
    if (given != nullptr) continue;
    if (awaited >= 0 && awaited != device) require(taso_stream_wait(awaited, nullptr));
    awaited = device;
  }
  if (awaited >= 0) require(taso_stream_wait(awaited, nullptr));
}

Stream::Stream(const Runtime& runtime, int device) : OrtSyncStreamImpl{}, runtime_(runtime), device_(device) {
  require(taso_stream_create(device, &stream_));
  ort_version_supported = runtime.version;
  OrtSyncStreamImpl::Release = [](OrtSyncStreamImpl* self) noexcept { delete static_cast<Stream*>(self); };
  GetHandle = [](OrtSyncStreamImpl* self) noexcept { return static_cast<Stream*>(self)->stream_; };
  CreateNotification = [](OrtSyncStreamImpl* self, OrtSyncNotificationImpl** made) noexcept {
    const auto& one = *static_cast<Stream*>(self);
    return guarded(one.runtime_.api,
                   [&] { *made = std::make_unique<Notification>(one.runtime_, one.device_, one.stream_).release(); });
  };
  Flush = [](OrtSyncStreamImpl* self) noexcept {
    const auto& one = *static_cast<Stream*>(self);
    return guarded(one.runtime_.api, [&] { require(taso_stream_wait(one.device_, one.stream_)); });
  };
  OnSessionRunEnd = [](OrtSyncStreamImpl*) noexcept -> OrtStatus* { return nullptr; };
}

Stream::~Stream() {
  taso_stream_wait(device_, stream_);  // allocators give its memory to the next stream with the same handle
  taso_stream_destroy(device_, stream_);
}

}  // namespace taso::onnxruntime
