// The border between our programs and the CUDA module, which is loaded at run time and may be older or newer than the
// program: it is asked in plain C types what it is, and only one of the same build is asked for more.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

/// Raised whenever something below changes, or runtime/gpu/accelerator.h; a program refuses a module that answers
/// another number.
constexpr std::int32_t taso_cuda_interface = 3;

/// Versions as the libraries number them themselves; 0 where there is none.
struct TasoCudaProbe {
  std::int32_t interface_version;
  std::int32_t runtime;  // 13000 is 13.0
  std::int32_t driver;   // the newest CUDA that the driver runs, numbered alike
  std::int64_t cudnn;    // 91900 is 9.19.0
  std::int32_t cublas;   // 130000 is 13.0.0
  std::int32_t device_count;
  char device_names[16][256];
  char trouble[256];  // why nothing can run, empty when something can
};

/// Fills `probe`; never throws, never exits.
void taso_cuda_probe(TasoCudaProbe* probe);

/// A `taso::gpu::Accelerator` that the caller owns; null with the reason in `trouble`. C++ types cross here: `layout`
/// says how they lie (layout.h), and a module that has them otherwise refuses. Never throws.
void* taso_cuda_open(std::uint64_t layout, char* trouble, std::size_t trouble_size);
}
