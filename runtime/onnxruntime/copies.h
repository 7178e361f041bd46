// Kernels that ONNX Runtime puts between a fused node on a GPU and nodes of other providers: copies from and to the
// host.
#pragma once

#include "runtime/onnxruntime/status.h"

namespace taso::onnxruntime {

#if ORT_API_VERSION >= 24

class CopyKernels {
 public:
  /// Of a GPU. Throws Failure.
  CopyKernels(const Runtime& runtime, int device, const char* provider);
  CopyKernels(const CopyKernels&) = delete;
  CopyKernels& operator=(const CopyKernels&) = delete;
  ~CopyKernels() { runtime_.provider_api.ReleaseKernelRegistry(registry_); }
  const OrtKernelRegistry* registry() const { return registry_; }

 private:
  struct Kernel;
  void add(const char* provider, bool is_to_host);

  Runtime runtime_;
  int device_;
  OrtKernelRegistry* registry_ = nullptr;
};

#else

class CopyKernels {
 public:
  CopyKernels(const Runtime&, int, const char*) {}
};

#endif

}  // namespace taso::onnxruntime
