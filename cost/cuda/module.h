// The border between our programs and the CUDA module: plain C types, since the module is loaded at run time and may be
// older or newer than the program.
#pragma once

#include <cstdint>

extern "C" {

/// Raised whenever the structure below changes; a program refuses a module that answers another number.
constexpr std::int32_t taso_cuda_interface = 1;

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
}
