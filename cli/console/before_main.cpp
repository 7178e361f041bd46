// What a program does before its libraries are initialised. Not part of the library, where it could not be done.
#include <unistd.h>

#include <array>
#include <cstddef>
#include <string_view>

#include "cli/console/memory.h"

namespace taso::cli {
namespace {

/// OpenBLAS starts threads with large stacks while it is loaded. If a memory limit forbids that, it sends its own
/// process a SIGINT, which looks like a Ctrl-C. taso does not need these threads (runtime/host/kernels/gemm.cpp). Only
/// the environment at program start turns them off, so the program restarts itself, as the same process. No library is
/// initialised yet: only system calls are safe here.
void start_without_threads_of_blas(int, char** arguments, char** environment) {
  constexpr std::string_view setting = "OPENBLAS_NUM_THREADS=";
  constexpr std::size_t most = 4096;
  if (!memory_is_limited()) return;
  std::array<char*, most + 2> extended{};
  std::size_t count = 0;
  for (; environment[count] != nullptr; ++count) {
    if (count == most || std::string_view(environment[count]).starts_with(setting)) return;
    extended[count + 1] = environment[count];
  }
  std::array<char, setting.size() + 2> one{};
  setting.copy(one.data(), setting.size());
  one[setting.size()] = '1';
  extended[0] = one.data();
  ::execve("/proc/self/exe", arguments, extended.data());  // if this fails, continue as it is
}

// .preinit_array runs before the constructors of shared libraries.
using Beginning = void (*)(int, char**, char**);
[[gnu::section(".preinit_array"), gnu::used]] Beginning beginning = start_without_threads_of_blas;

}  // namespace
}  // namespace taso::cli
