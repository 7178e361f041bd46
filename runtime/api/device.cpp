// The C interface to memory, streams and events of GPUs.
#include <taso/taso.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "ops/core/error.h"
#include "runtime/api/guarded.h"
#include "runtime/gpu/device_services.h"

using taso::runtime::BadArgument;
using taso::runtime::guarded;

namespace {

struct Device {
  std::unique_ptr<taso::gpu::DeviceServices> services;
  std::string name;
};

/// Opened at the first use, and never closed: memory and streams may be freed until the process ends.
Device& device_of(std::int32_t number) {
  if (number < 0) throw BadArgument(fmt::format("{} is not the number of a GPU", number));
  static std::mutex guard;
  static auto& opened = *new std::map<std::int32_t, Device>();
  const std::lock_guard lock(guard);
  Device& device = opened[number];
  if (device.services) return device;
  std::string trouble;
  device.services = taso::gpu::open_device_services(trouble, number);
  if (!device.services) throw taso::EnvironmentError(fmt::format("no GPU can be used: {}", trouble));
  device.name = device.services->name();
  return device;
}

bool is_host(std::int32_t place) {
  if (place != TASO_HOST && place != TASO_DEVICE)
    throw BadArgument(fmt::format("{} is not the number of a place", place));
  return place == TASO_HOST;
}

void need(const void* pointer, const char* what) {
  if (pointer == nullptr) throw BadArgument(fmt::format("{} is null", what));
}

}  // namespace

taso_status taso_device_describe(int32_t device, const char** name, size_t* memory) {
  return guarded(TASO_BAD_ARGUMENT, [&] {
    const Device& found = device_of(device);
    if (name != nullptr) *name = found.name.c_str();
    if (memory != nullptr) *memory = found.services->memory_bytes();
  });
}

taso_status taso_device_allocate(int32_t device, int32_t place, size_t bytes, void** memory) {
  return guarded(TASO_BAD_ARGUMENT, [&] {
    need(memory, "the place for the memory");
    *memory = nullptr;
    const bool is_on_host = is_host(place);
    taso::gpu::DeviceServices& services = *device_of(device).services;
    if (bytes > 0) *memory = services.allocate(bytes, is_on_host);
  });
}

taso_status taso_device_free(int32_t device, int32_t place, void* memory) {
  return guarded(TASO_BAD_ARGUMENT, [&] {
    const bool is_on_host = is_host(place);
    if (memory != nullptr) device_of(device).services->free(memory, is_on_host);
  });
}

taso_status taso_device_copy(int32_t device, void* to, const void* from, size_t bytes, void* stream) {
  return guarded(TASO_BAD_ARGUMENT, [&] {
    if (bytes == 0) return;
    need(to, "the target of a copy");
    need(from, "the source of a copy");
    device_of(device).services->copy(to, from, bytes, stream);
  });
}

taso_status taso_device_wait(int32_t device) {
  return guarded(TASO_BAD_ARGUMENT, [&] { device_of(device).services->wait_for_all(); });
}

taso_status taso_stream_create(int32_t device, void** stream) {
  return guarded(TASO_BAD_ARGUMENT, [&] {
    need(stream, "the place for the stream");
    *stream = nullptr;
    *stream = device_of(device).services->make_stream();
  });
}

taso_status taso_stream_destroy(int32_t device, void* stream) {
  return guarded(TASO_BAD_ARGUMENT, [&] {
    if (stream != nullptr) device_of(device).services->end_stream(stream);
  });
}

taso_status taso_stream_wait(int32_t device, void* stream) {
  return guarded(TASO_BAD_ARGUMENT, [&] { device_of(device).services->wait(stream); });
}

taso_status taso_event_create(int32_t device, void** event) {
  return guarded(TASO_BAD_ARGUMENT, [&] {
    need(event, "the place for the event");
    *event = nullptr;
    *event = device_of(device).services->make_event();
  });
}

taso_status taso_event_destroy(int32_t device, void* event) {
  return guarded(TASO_BAD_ARGUMENT, [&] {
    if (event != nullptr) device_of(device).services->end_event(event);
  });
}

taso_status taso_event_record(int32_t device, void* event, void* stream) {
  return guarded(TASO_BAD_ARGUMENT, [&] {
    need(event, "the event");
    device_of(device).services->record(event, stream);
  });
}

taso_status taso_event_wait(int32_t device, void* event) {
  return guarded(TASO_BAD_ARGUMENT, [&] {
    need(event, "the event");
    device_of(device).services->wait_for_event(event);
  });
}

taso_status taso_stream_wait_event(int32_t device, void* stream, void* event) {
  return guarded(TASO_BAD_ARGUMENT, [&] {
    need(event, "the event");
    device_of(device).services->queue_wait(stream, event);
  });
}
