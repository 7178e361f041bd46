#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "runtime/gpu/cuda/device_data.h"
#include "runtime/gpu/cuda/handles.h"

namespace taso::gpu::cuda {

namespace {

constexpr unsigned block = 256;
constexpr std::uint32_t poison_byte = 0xFF;

unsigned blocks_for(std::size_t count) {
  const std::size_t blocks = (count + block - 1) / block;
  return static_cast<unsigned>(blocks < 4096 ? (blocks > 0 ? blocks : 1) : 4096);
}

__device__ std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

template <class T>
__device__ T element_of(double number, std::uint64_t bits) {
  return static_cast<T>(bits & 7);
}
template <>
__device__ float element_of<float>(double number, std::uint64_t) {
  return static_cast<float>(number);
}
template <>
__device__ double element_of<double>(double number, std::uint64_t) {
  return number;
}
template <>
__device__ __half element_of<__half>(double number, std::uint64_t) {
  return __float2half(static_cast<float>(number));
}
template <>
__device__ __nv_bfloat16 element_of<__nv_bfloat16>(double number, std::uint64_t) {
  return __float2bfloat16(static_cast<float>(number));
}
template <>
__device__ bool element_of<bool>(double, std::uint64_t bits) {
  return (bits & 1) != 0;
}

template <class T>
__global__ void fill_kernel(T* data, std::size_t count, double low, double high, std::uint64_t seed) {
  const std::size_t step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step) {
    const std::uint64_t bits = mixed(seed ^ mixed(i));
    data[i] = element_of<T>(low + (high - low) * (static_cast<double>(bits >> 11) * 0x1p-53), bits);
  }
}

template <class T>
__device__ double number_of(T element) {
  return static_cast<double>(element);
}
template <>
__device__ double number_of<__half>(__half element) {
  return static_cast<double>(__half2float(element));
}
template <>
__device__ double number_of<__nv_bfloat16>(__nv_bfloat16 element) {
  return static_cast<double>(__bfloat162float(element));
}

/// Sums in shared memory first: one atomic addition per block.
template <class T, class Bits>
__global__ void compare_kernel(const T* data, const T* reference, std::size_t count, Bits poisoned, Agreement* result) {
  __shared__ double difference[block], size[block];
  __shared__ unsigned long long unwritten[block], different[block];
  const unsigned thread = threadIdx.x;
  difference[thread] = size[thread] = 0;
  unwritten[thread] = different[thread] = 0;
  const std::size_t step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + thread; i < count; i += step) {
    const Bits mine = reinterpret_cast<const Bits*>(data)[i], theirs = reinterpret_cast<const Bits*>(reference)[i];
    if (mine == poisoned) ++unwritten[thread];
    if (mine == poisoned && theirs == poisoned) continue;
    const double a = number_of(data[i]), b = number_of(reference[i]);
    if (!isnan(b) && !isinf(b)) size[thread] += b * b;
    if (mine == theirs || (isnan(a) && isnan(b) && mine != poisoned && theirs != poisoned)) continue;
    ++different[thread];
    difference[thread] += (a - b) * (a - b);
  }
  __syncthreads();
  for (unsigned half = block / 2; half > 0; half /= 2) {
    if (thread < half) {
      difference[thread] += difference[thread + half];
      size[thread] += size[thread + half];
      unwritten[thread] += unwritten[thread + half];
      different[thread] += different[thread + half];
    }
    __syncthreads();
  }
  if (thread == 0) {
    atomicAdd(&result->difference, difference[0]);
    atomicAdd(&result->size, size[0]);
    atomicAdd(reinterpret_cast<unsigned long long*>(&result->unwritten), unwritten[0]);
    atomicAdd(reinterpret_cast<unsigned long long*>(&result->different), different[0]);
  }
}

template <class From, class To>
__global__ void convert_kernel(const From* from, To* to, std::size_t count) {
  const std::size_t step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step)
    to[i] = element_of<To>(number_of(from[i]), 0);
}

template <class From>
void convert_from(cudaStream_t stream, const std::byte* from, std::byte* to, ElementType to_element,
                  std::size_t count) {
  const auto* const source = reinterpret_cast<const From*>(from);
  switch (to_element) {
    case ElementType::float32:
      convert_kernel<<<blocks_for(count), block, 0, stream>>>(source, reinterpret_cast<float*>(to), count);
      break;
    case ElementType::float16:
      convert_kernel<<<blocks_for(count), block, 0, stream>>>(source, reinterpret_cast<__half*>(to), count);
      break;
    case ElementType::bfloat16:
      convert_kernel<<<blocks_for(count), block, 0, stream>>>(source, reinterpret_cast<__nv_bfloat16*>(to), count);
      break;
    default: throw InputError("the memory of an input or output has the wrong type");
  }
}

__global__ void read_kernel(const uint4* data, std::size_t count, unsigned* nowhere) {
  unsigned sum = 0;
  const std::size_t step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step) {
    const uint4 four = data[i];
    sum += four.x ^ four.y ^ four.z ^ four.w;
  }
  if (sum == 0x12345678U) *nowhere = sum;  // hardly ever true, but the compiler cannot know that
}

/// As our own kernels do, lets the next kernel start early if it can.
__device__ void let_next_kernel_begin() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
#endif
}

/// The compiler must not see that the content stays the same.
__device__ void rewrite_all(const Rewritten& what) {
  const std::size_t step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  const std::size_t first = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  for (std::size_t one = 0; one < what.count; ++one) {
    const std::size_t count = what.bytes[one] / sizeof(uint4);
    for (std::size_t i = first; i < count; i += step) {
      std::byte* const place = what.data[one] + i * sizeof(uint4);
      uint4 four;
      asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                   : "=r"(four.x), "=r"(four.y), "=r"(four.z), "=r"(four.w)
                   : "l"(place)
                   : "memory");
      asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(place), "r"(four.x), "r"(four.y), "r"(four.z),
                   "r"(four.w)
                   : "memory");
    }
  }
}

__global__ void rewrite_kernel(const Rewritten what) {
  let_next_kernel_begin();
  rewrite_all(what);
}

// Straight-line code: 16 bytes per instruction, four independent ones at a time.
#define TASO_FOUR                                         \
  "fma.rn.f32 %0, %0, %4, %5; fma.rn.f32 %1, %1, %4, %5;" \
  "fma.rn.f32 %2, %2, %4, %5; fma.rn.f32 %3, %3, %4, %5;"
#define TASO_16 TASO_FOUR TASO_FOUR TASO_FOUR TASO_FOUR
#define TASO_64 TASO_16 TASO_16 TASO_16 TASO_16
#define TASO_256 TASO_64 TASO_64 TASO_64 TASO_64
#define TASO_1024 TASO_256 TASO_256 TASO_256 TASO_256

__global__ void rewrite_kernel_with_code(const Rewritten what, float factor, float* nowhere) {
  let_next_kernel_begin();
  rewrite_all(what);
  if (threadIdx.x >= 128) return;  // one warp per quarter of a multiprocessor: each has its own cache
  float a = static_cast<float>(threadIdx.x), b = a + 1, c = a + 2, d = a + 3;
#define TASO_CODE asm volatile(TASO_1024 : "+f"(a), "+f"(b), "+f"(c), "+f"(d) : "f"(factor), "f"(1 - factor));
  TASO_CODE TASO_CODE TASO_CODE TASO_CODE TASO_CODE TASO_CODE TASO_CODE TASO_CODE TASO_CODE
      TASO_CODE if (a + b + c + d == 0.123F)* nowhere = a;  // hardly ever true, but the compiler cannot know that
}

#undef TASO_CODE
#undef TASO_1024
#undef TASO_256
#undef TASO_64
#undef TASO_16
#undef TASO_FOUR

/// Calls `visit` with CUDA's type for the element, and an unsigned integer of the same size.
template <class Visit>
void with_device_type(ElementType element, Visit&& visit) {
  switch (element) {
    case ElementType::float32: return visit(float{}, std::uint32_t{});
    case ElementType::float64: return visit(double{}, std::uint64_t{});
    case ElementType::float16: return visit(__half{}, std::uint16_t{});
    case ElementType::bfloat16: return visit(__nv_bfloat16{}, std::uint16_t{});
    case ElementType::int8: return visit(std::int8_t{}, std::uint8_t{});
    case ElementType::int16: return visit(std::int16_t{}, std::uint16_t{});
    case ElementType::int32: return visit(std::int32_t{}, std::uint32_t{});
    case ElementType::int64: return visit(std::int64_t{}, std::uint64_t{});
    case ElementType::uint16: return visit(std::uint16_t{}, std::uint16_t{});
    case ElementType::uint32: return visit(std::uint32_t{}, std::uint32_t{});
    case ElementType::uint64: return visit(std::uint64_t{}, std::uint64_t{});
    case ElementType::boolean: return visit(bool{}, std::uint8_t{});
    default: return visit(std::uint8_t{}, std::uint8_t{});
  }
}

}  // namespace

void fill_randomly(cudaStream_t stream, std::byte* data, std::size_t bytes, ElementType element, bool is_positive,
                   std::uint64_t seed) {
  with_device_type(element, [&](auto kind, auto) {
    using T = decltype(kind);
    const std::size_t count = bytes / sizeof(T);
    if (count == 0) return;
    fill_kernel<T><<<blocks_for(count), block, 0, stream>>>(reinterpret_cast<T*>(data), count, is_positive ? 0.5 : -1.0,
                                                            is_positive ? 1.5 : 1.0, seed);
    require(cudaGetLastError(), "random numbers");
  });
}

void poison(cudaStream_t stream, std::byte* data, std::size_t bytes) {
  if (bytes > 0) require(cudaMemsetAsync(data, poison_byte, bytes, stream), "poison");
}

Agreement compare(cudaStream_t stream, const std::byte* data, const std::byte* reference, std::size_t bytes,
                  ElementType element, Agreement* on_device) {
  Agreement result;
  require(cudaMemsetAsync(on_device, 0, sizeof result, stream), "a comparison");
  with_device_type(element, [&](auto kind, auto bits) {
    using T = decltype(kind);
    using Bits = decltype(bits);
    const std::size_t count = bytes / sizeof(T);
    if (count == 0) return;
    compare_kernel<T, Bits><<<blocks_for(count), block, 0, stream>>>(reinterpret_cast<const T*>(data),
                                                                     reinterpret_cast<const T*>(reference), count,
                                                                     static_cast<Bits>(~Bits{0}), on_device);
    require(cudaGetLastError(), "a comparison");
  });
  require(cudaMemcpyAsync(&result, on_device, sizeof result, cudaMemcpyDeviceToHost, stream), "a comparison");
  require(cudaStreamSynchronize(stream), "a comparison");
  return result;
}

void convert(cudaStream_t stream, const std::byte* from, ElementType from_element, std::byte* to,
             ElementType to_element, std::size_t count) {
  switch (from_element) {
    case ElementType::float32: convert_from<float>(stream, from, to, to_element, count); break;
    case ElementType::float16: convert_from<__half>(stream, from, to, to_element, count); break;
    case ElementType::bfloat16: convert_from<__nv_bfloat16>(stream, from, to, to_element, count); break;
    default: throw InputError("the memory of an input or output has the wrong type");
  }
  require(cudaGetLastError(), "a conversion");
}

void read_through(cudaStream_t stream, const std::byte* data, std::size_t bytes, std::byte* nowhere) {
  const std::size_t count = bytes / sizeof(uint4);
  read_kernel<<<blocks_for(count), block, 0, stream>>>(reinterpret_cast<const uint4*>(data), count,
                                                       reinterpret_cast<unsigned*>(nowhere));
  require(cudaGetLastError(), "emptying the cache");
}

void rewrite(cudaStream_t stream, const Rewritten& what, bool with_code, unsigned multiprocessors, std::byte* nowhere) {
  constexpr unsigned threads = 512;
  if (with_code) {
    rewrite_kernel_with_code<<<multiprocessors, threads, 0, stream>>>(what, 0.5F, reinterpret_cast<float*>(nowhere));
  } else {
    rewrite_kernel<<<2 * multiprocessors, threads, 0, stream>>>(what);
  }
  require(cudaGetLastError(), "a rewriting kernel");
}

}  // namespace taso::gpu::cuda
