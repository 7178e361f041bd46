// The border between our programs and the CUDA module. The module is loaded at run time and may be older or newer than
// the program: a plain C function identifies it, and only a module of the same build is used further.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

/// Must be raised with every change below, in runtime/gpu/accelerator.h or device_services.h; a program refuses a
/// module with another number.
constexpr std::int32_t taso_cuda_interface = 7;

/// Versions in the encoding of each library; 0 if it is missing.
struct TasoCudaProbe {
  std::int32_t interface_version;
  std::int32_t runtime;  // 13000 is 13.0
  std::int32_t driver;   // the newest CUDA version that the driver supports, in the same encoding
  std::int64_t cudnn;    // 91900 is 9.19.0
  std::int32_t cublas;   // 130000 is 13.0.0
  std::int32_t device_count;
  char device_names[16][256];
  char trouble[256];  // why nothing can run; empty if a GPU is usable
};

/// Fills `probe`; never throws, never exits.
void taso_cuda_probe(TasoCudaProbe* probe);

/// Returns a `taso::gpu::Accelerator` that the caller owns, for a GPU by its number, or null with the reason in
/// `trouble`. C++ types cross here: the module refuses if `layout` (layout.h) differs from its own. Never throws.
void* taso_cuda_open(std::uint64_t layout, std::int32_t device, char* trouble, std::size_t trouble_size);

/// The same for a `taso::gpu::DeviceServices`.
void* taso_cuda_services(std::uint64_t layout, std::int32_t device, char* trouble, std::size_t trouble_size);
}
