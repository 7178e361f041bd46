// Device memory and streams through the driver, which is opened at run time: tests compile without CUDA.
#pragma once

#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace taso::test {

class Driver {
 public:
  /// The first GPU. Throws std::runtime_error if there is none.
  static const Driver& instance() {
    static const Driver driver;
    driver.call("cuCtxSetCurrent", driver.context_);  // for this thread
    return driver;
  }
  template <class... Arguments>
  void call(const char* name, Arguments... arguments) const {
    using Function = int (*)(Arguments...);
    const auto function = reinterpret_cast<Function>(::dlsym(library_, name));
    if (function == nullptr) throw std::runtime_error(std::string("the driver has no ") + name);
    if (const int status = function(arguments...); status != 0)
      throw std::runtime_error(std::string(name) + " returned " + std::to_string(status));
  }

 private:
  Driver() : library_(::dlopen("libcuda.so.1", RTLD_NOW)) {
    if (library_ == nullptr) throw std::runtime_error("there is no driver");
    call("cuInit", 0u);
    call("cuDevicePrimaryCtxRetain", &context_, 0);
  }
  void* library_;
  void* context_ = nullptr;
};

class DeviceBytes {
 public:
  explicit DeviceBytes(std::size_t bytes) : bytes_(bytes) {
    Driver::instance().call("cuMemAlloc_v2", &address_, bytes);
  }
  DeviceBytes(DeviceBytes&& other) noexcept : address_(std::exchange(other.address_, 0)), bytes_(other.bytes_) {}
  ~DeviceBytes() {
    if (address_ != 0) Driver::instance().call("cuMemFree_v2", address_);
  }
  void* data() const { return reinterpret_cast<void*>(address_); }
  std::size_t size() const { return bytes_; }
  void fill(const void* from) { Driver::instance().call("cuMemcpyHtoD_v2", address_, from, bytes_); }
  template <class T>
  std::vector<T> read(std::size_t count) const {
    std::vector<T> list(count);
    Driver::instance().call("cuMemcpyDtoH_v2", static_cast<void*>(list.data()), address_, count * sizeof(T));
    return list;
  }

 private:
  std::uint64_t address_ = 0;
  std::size_t bytes_ = 0;
};

class DeviceStream {
 public:
  DeviceStream() { Driver::instance().call("cuStreamCreate", &stream_, 1u); }
  ~DeviceStream() { Driver::instance().call("cuStreamDestroy_v2", stream_); }
  DeviceStream(const DeviceStream&) = delete;
  DeviceStream& operator=(const DeviceStream&) = delete;
  void wait() const { Driver::instance().call("cuStreamSynchronize", stream_); }
  void* get() const { return stream_; }

 private:
  void* stream_ = nullptr;
};

}  // namespace taso::test
