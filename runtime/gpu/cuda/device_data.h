// Data for measurements, made and compared on the device: random operands, poisoned results, and whether two results agree.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "ops/core/element_type.h"

namespace taso::gpu::cuda {

/// Fills with random numbers, from -1 to 1, or from 0.5 to 1.5 where roots and quotients are taken; integers from 0 to 7.
void fill_randomly(cudaStream_t stream, std::byte* data, std::size_t bytes, ElementType element, bool is_positive,
                   std::uint64_t seed);

/// Sets every byte so that floating-point elements are a NaN that nothing computes.
void poison(cudaStream_t stream, std::byte* data, std::size_t bytes);

struct Agreement {
  std::uint64_t unwritten = 0;  ///< elements of the first that are still poison
  std::uint64_t different = 0;  ///< elements whose bits differ
  double difference = 0;        ///< sum of squares; NaN if one is a number and the other is not
  double size = 0;              ///< sum of squares of the second
};
/// Compares two buffers; bytes between elements must be poison in both. Waits for the stream.
Agreement compare(cudaStream_t stream, const std::byte* data, const std::byte* reference, std::size_t bytes,
                  ElementType element, Agreement* on_device);

/// Reads so many bytes that nothing else is left in the cache.
void read_through(cudaStream_t stream, const std::byte* data, std::size_t bytes, std::byte* nowhere);

/// Bytes that a kernel writes again, as they are.
struct Rewritten {
  static constexpr std::size_t most = 12;
  std::byte* data[most] = {};
  std::size_t bytes[most] = {};  ///< whole multiples of 16
  std::size_t count = 0;
};
/// Writes them from all multiprocessors. `with_code`: through more code than caches of instructions hold.
void rewrite(cudaStream_t stream, const Rewritten& what, bool with_code, unsigned multiprocessors, std::byte* nowhere);

}  // namespace taso::gpu::cuda
