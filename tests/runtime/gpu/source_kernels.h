// Our own kernels without a GPU: compiled for the CPU and run there, or compiled for a GPU by NVRTC, if available.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "runtime/gpu/launch.h"

namespace taso::test {

/// Compiles many kernels at once, because a compiler takes long to start.
class HostKernels {
 public:
  explicit HostKernels(const std::vector<gpu::SourceLaunch>& launches);
  HostKernels(const HostKernels&) = delete;
  HostKernels& operator=(const HostKernels&) = delete;
  ~HostKernels();

  /// Each argument is the address of the start of an operand.
  void run(std::size_t kernel, const gpu::SourceLaunch& launch, std::vector<void*> arguments) const;

 private:
  void* library_ = nullptr;
};

/// NVRTC, if it can be loaded.
class DeviceCompiler {
 public:
  DeviceCompiler();
  bool is_there() const { return library_ != nullptr; }
  /// The compiler's messages about the source, for sm_90; empty if there are none.
  std::string complaints(const std::string& source) const;
  /// All kernels as one source, which is much faster than one by one.
  static std::string joined(const std::vector<gpu::SourceLaunch>& launches);

 private:
  void* library_ = nullptr;
};

}  // namespace taso::test
