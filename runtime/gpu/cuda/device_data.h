// Creates and compares data on the device for measurements: random operands, poisoned results, agreement of two
// results.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "ops/core/element_type.h"

namespace taso::gpu::cuda {

/// Fills with random numbers from -1 to 1, or from 0.5 to 1.5 for roots and quotients; integers from 0 to 7.
void fill_randomly(cudaStream_t stream, std::byte* data, std::size_t bytes, ElementType element, bool is_positive,
                   std::uint64_t seed);

/// Sets every byte so that floating-point elements are a NaN that no computation produces.
void poison(cudaStream_t stream, std::byte* data, std::size_t bytes);

struct Agreement {
  std::uint64_t unwritten = 0;  ///< elements of the first buffer that are still poison
  std::uint64_t different = 0;  ///< elements whose bits differ
  double difference = 0;        ///< sum of squares; NaN if exactly one of two elements is a number
  double size = 0;              ///< sum of squares of the second buffer
};
/// Compares two buffers; bytes between elements must be poison in both. Waits for the stream.
Agreement compare(cudaStream_t stream, const std::byte* data, const std::byte* reference, std::size_t bytes,
                  ElementType element, Agreement* on_device);

/// Converts `count` elements between float32, float16 and bfloat16. Throws InputError for other types.
void convert(cudaStream_t stream, const std::byte* from, ElementType from_element, std::byte* to,
             ElementType to_element, std::size_t count);

/// Reads enough bytes to evict everything else from the cache.
void read_through(cudaStream_t stream, const std::byte* data, std::size_t bytes, std::byte* nowhere);

/// Buffers that a kernel rewrites with their own content.
struct Rewritten {
  static constexpr std::size_t most = 12;
  std::byte* data[most] = {};
  std::size_t bytes[most] = {};  ///< multiples of 16
  std::size_t count = 0;
};
/// Rewrites them from all multiprocessors. `with_code`: with more code than the instruction caches hold.
void rewrite(cudaStream_t stream, const Rewritten& what, bool with_code, unsigned multiprocessors, std::byte* nowhere);

}  // namespace taso::gpu::cuda
