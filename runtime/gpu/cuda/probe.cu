// Asks the CUDA libraries for their versions, and tests whether a GPU can run the code in this module.
#include <cuda_runtime.h>
#ifdef TASO_HAS_CUBLAS
#include <cublas_v2.h>
#endif
#ifdef TASO_HAS_CUDNN
#include <cudnn.h>
#endif

#include <algorithm>
#include <cstdio>

#include "runtime/gpu/cuda/module.h"

namespace {

__global__ void write_answer(int* answer) { *answer = 42; }

/// Only running a kernel is a sure test: a device may exist and still not run code compiled for other architectures.
cudaError_t run_a_kernel() {
  int* on_device = nullptr;
  if (cudaError_t error = cudaMalloc(reinterpret_cast<void**>(&on_device), sizeof(int)); error != cudaSuccess)
    return error;
  write_answer<<<1, 1>>>(on_device);
  cudaError_t error = cudaGetLastError();
  int answer = 0;
  if (error == cudaSuccess) error = cudaMemcpy(&answer, on_device, sizeof answer, cudaMemcpyDeviceToHost);
  cudaFree(on_device);
  if (error == cudaSuccess && answer != 42) error = cudaErrorUnknown;
  return error;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) void taso_cuda_probe(TasoCudaProbe* probe) {
  *probe = {};
  probe->interface_version = taso_cuda_interface;
  auto trouble = [&](const char* what, const char* why) {
    std::snprintf(probe->trouble, sizeof probe->trouble, "%s: %s", what, why);
  };
  cudaRuntimeGetVersion(&probe->runtime);
#ifdef TASO_HAS_CUDNN
  probe->cudnn = static_cast<std::int64_t>(cudnnGetVersion());
#endif
#ifdef TASO_HAS_CUBLAS
  // cublasGetVersion would need a handle, and so a GPU.
  int part[3] = {};
  cublasGetProperty(MAJOR_VERSION, &part[0]);
  cublasGetProperty(MINOR_VERSION, &part[1]);
  cublasGetProperty(PATCH_LEVEL, &part[2]);
  probe->cublas = part[0] * 10000 + part[1] * 100 + part[2];
#endif
  cudaDriverGetVersion(&probe->driver);
  if (probe->driver == 0) return trouble("no GPU", "no NVIDIA driver is installed");

  int count = 0;
  if (cudaError_t error = cudaGetDeviceCount(&count); error != cudaSuccess) {
    return trouble("no GPU", cudaGetErrorString(error));
  }
  probe->device_count = std::min<int>(count, sizeof probe->device_names / sizeof probe->device_names[0]);
  for (int device = 0; device < probe->device_count; ++device) {
    cudaDeviceProp properties{};
    if (cudaGetDeviceProperties(&properties, device) != cudaSuccess) continue;
    std::snprintf(probe->device_names[device], sizeof probe->device_names[device], "%s", properties.name);
  }
  if (probe->device_count == 0) return trouble("no GPU", "the driver lists none");
  if (cudaError_t error = run_a_kernel(); error != cudaSuccess) {
    trouble("the GPU cannot run our kernels", cudaGetErrorString(error));
  }
}
