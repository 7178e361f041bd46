// Kernels of our own without a GPU: compiled for the CPU and run there, or compiled for a GPU by NVRTC, where there is one.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "runtime/gpu/launch.h"

namespace taso::test {

/// Compiles many kernels at once, since a compiler takes long to begin.
class HostKernels {
 public:
  explicit HostKernels(const std::vector<gpu::SourceLaunch>& launches);
  HostKernels(const HostKernels&) = delete;
  HostKernels& operator=(const HostKernels&) = delete;
  ~HostKernels();

  /// Each argument as the bytes at which the operand begins.
  void run(std::size_t kernel, const gpu::SourceLaunch& launch, std::vector<void*> arguments) const;

 private:
  void* library_ = nullptr;
};

/// NVRTC, if it can be loaded.
class DeviceCompiler {
 public:
  DeviceCompiler();
  bool is_there() const { return library_ != nullptr; }
  /// What the compiler says against the source, for sm_90; empty if nothing.
  std::string complaints(const std::string& source) const;
  /// All kernels as one source: much faster than one by one.
  static std::string joined(const std::vector<gpu::SourceLaunch>& launches);

 private:
  void* library_ = nullptr;
};

}  // namespace taso::test
