// The fixed parts of a kernel for products of few rows (row_product.cpp writes the rest around them). They use the
// wrappers of tensor_text.h for shared memory.
#pragma once

#include <string_view>

namespace taso::gpu::kernels {

/// Sizes that follow from those that the generator writes.
inline constexpr std::string_view stream_sizes = R"(
typedef Pack<element, in_chunk> Chunk;
constexpr int warps = threads / 32, quads = rows * tile / 4, own_quads = quads / split;
// Chunks of a thread: `width` of them at each place, and `places` places at once. A place is `deep` of the depth.
constexpr int places = in_flight / width, deep = are_columns_neighbours ? 4 : in_chunk;
constexpr int across = are_columns_neighbours ? tile / in_chunk : 1;
constexpr int lanes_down = are_columns_neighbours ? threads / across : 32;
constexpr int each = are_columns_neighbours ? in_chunk : width;  // columns of a thread
constexpr int step = places * lanes_down * deep, slices = are_columns_neighbours ? warps : 1;
struct Chunks { Chunk of[places][width]; };
)";

/// Reads what a thread multiplies next; nothing beyond the end.
inline constexpr std::string_view stream_functions = R"(
__device__ inline Chunk no_chunk() {
  Chunk none;
#pragma unroll
  for (int v = 0; v < in_chunk; ++v) none.v[v] = put<element>(0);
  return none;
}
__device__ inline int place_of(int first, int p, int down) { return first + (p * lanes_down + down) * deep; }
__device__ inline void read_chunks(Chunks& to, const element* __restrict__ right, int first, int end, int down, int n) {
#pragma unroll
  for (int p = 0; p < places; ++p)
#pragma unroll
    for (int i = 0; i < width; ++i) {
      const int k = place_of(first, p, down) + (are_columns_neighbours ? i : 0), c = are_columns_neighbours ? n : n + i;
      const bool is_inside = k < end && c < columns;
      const int at = are_columns_neighbours ? k * pitch + c : c * pitch + k;
      to.of[p][i] = is_inside ? load<in_chunk>(right + at) : no_chunk();
    }
}
__device__ inline void multiply(float (&sums)[rows][each], const Chunks& chunks, word left, int first, int begin,
                                int end, int down) {
#pragma unroll
  for (int p = 0; p < places; ++p) {
    const int k = place_of(first, p, down);
    if (k >= end) break;
#pragma unroll
    for (int m = 0; m < rows; ++m) {
      float x[deep];
#pragma unroll
      for (int d = 0; d < deep; d += 4) {
        float four[4];
        fetch(four, left + static_cast<word>((m * part + k - begin + d) * 4));
#pragma unroll
        for (int e = 0; e < 4; ++e) x[d + e] = four[e];
      }
#pragma unroll
      for (int i = 0; i < width; ++i)
#pragma unroll
        for (int v = 0; v < in_chunk; ++v)
          sums[m][are_columns_neighbours ? v : i] += get(chunks.of[p][i].v[v]) * x[are_columns_neighbours ? i : v];
    }
  }
}
)";

/// Begins a kernel: where everything lies, and which part of the product this block has.
inline constexpr std::string_view stream_begin = R"(
  const int thread = static_cast<int>(threadIdx.x), lane = thread % 32, warp = thread / 32;
  const int rank = static_cast<int>(blockIdx.x) % split, first_column = static_cast<int>(blockIdx.x) / split * tile;
  const int begin = rank * part, end = begin + part < depth ? begin + part : depth;
  const int down = are_columns_neighbours ? thread / across : lane;
  const int column = are_columns_neighbours ? thread % across * in_chunk : warp * width;
  const word left = shared_begin(), parts = left + rows * part * 4, kept = parts + slices * quads * 16;
  const word slots = kept + quads * 16, count = slots + quads * 16;
  if (split > 1) {
    if (thread == 0) make_count(count, quads * 16);
    cluster_arrive();
  }
  Chunks next;
  if (is_right_weight) read_chunks(next, right, begin, end, down, first_column + column);
  wait_for_earlier_kernels();
  let_next_kernel_begin();
  if (!is_right_weight) read_chunks(next, right, begin, end, down, first_column + column);
)";

/// Multiplies, and adds up what the threads and the blocks of a cluster have. The sums then lie at `summed`.
inline constexpr std::string_view stream_sums = R"(
  __syncthreads();
  float sums[rows][each] = {};
#pragma unroll 1
  for (int k = begin; k < end; k += step) {
    const Chunks now = next;
    read_chunks(next, right, k + step, end, down, first_column + column);
    multiply(sums, now, left, k, begin, end, down);
  }
#pragma unroll
  for (int o = are_columns_neighbours ? across : 1; o < 32; o *= 2)
#pragma unroll
    for (int m = 0; m < rows; ++m)
#pragma unroll
      for (int e = 0; e < each; ++e) sums[m][e] += __shfl_xor_sync(0xffffffffu, sums[m][e], o);
  if (lane < across) {
    const int slice = are_columns_neighbours ? warp : 0;
#pragma unroll
    for (int m = 0; m < rows; ++m)
#pragma unroll
      for (int e = 0; e < each; e += 2)
        keep(parts + static_cast<word>(((slice * rows + m) * tile + column + e) * 4), sums[m][e], sums[m][e + 1]);
  }
  __syncthreads();
  if (split > 1) {
    for (int q = thread; q < quads; q += threads) {
      float all[4] = {0, 0, 0, 0};
#pragma unroll
      for (int s = 0; s < slices; ++s) {
        float one[4];
        fetch(one, parts + static_cast<word>((s * quads + q) * 16));
#pragma unroll
        for (int e = 0; e < 4; ++e) all[e] += one[e];
      }
      keep(kept + static_cast<word>(q * 16), all[0], all[1]);
      keep(kept + static_cast<word>(q * 16 + 8), all[2], all[3]);
    }
    before_sending();
    cluster_wait();  // for all to have begun
    __syncthreads();
    if (thread < split)
      send(in_block(slots + rank * own_quads * 16, thread), kept + thread * own_quads * 16, own_quads * 16,
           in_block(count, thread));
    wait_for_count(count);
    cluster_arrive();
  }
  const word summed = split > 1 ? slots : parts;
)";

/// Without neighbouring columns and without a split, every warp multiplies columns of its own, and begins to read the
/// next ones before it adds up: the block does not wait for anything once it has the left factor.
inline constexpr std::string_view stream_columns_begin = R"(
  const int thread = static_cast<int>(threadIdx.x), lane = thread % 32;
  const int all = static_cast<int>(gridDim.x) * warps * width;
  constexpr int begin = 0, end = depth;
  const word left = shared_begin();
  int column = (static_cast<int>(blockIdx.x) * warps + thread / 32) * width;
  Chunks next;
  if (is_right_weight) read_chunks(next, right, begin, end, lane, column);
  wait_for_earlier_kernels();
  let_next_kernel_begin();
  if (!is_right_weight) read_chunks(next, right, begin, end, lane, column);
)";
inline constexpr std::string_view stream_columns = R"(
    float sums[rows][each] = {};
#pragma unroll 1
    for (int k = begin; k < end; k += step) {
      const Chunks now = next;
      const bool is_last = k + step >= end;
      read_chunks(next, right, is_last ? begin : k + step, end, lane, is_last ? column + all : column);
      multiply(sums, now, left, k, begin, end, lane);
    }
    float total = 0;  // of the row and column that this thread finishes
#pragma unroll
    for (int m = 0; m < rows; ++m)
#pragma unroll
      for (int e = 0; e < each; ++e) {
        float sum = sums[m][e];
#pragma unroll
        for (int o = 16; o > 0; o /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, o);
        if (lane == m * each + e) total = sum;
      }
    const int row = lane / each, n = column + lane % each;
)";

/// Adds up four neighbouring columns.
inline constexpr std::string_view stream_total = R"(
    float totals[4] = {0, 0, 0, 0};
#pragma unroll
    for (int s = 0; s < (split > 1 ? split : slices); ++s) {
      float one[4];
      fetch(one, summed + static_cast<word>((s * own_quads + q) * 16));
#pragma unroll
      for (int e = 0; e < 4; ++e) totals[e] += one[e];
    }
)";

}  // namespace taso::gpu::kernels
