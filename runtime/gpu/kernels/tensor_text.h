// The fixed parts of a product kernel on tensor cores (tensor_product.cpp writes the rest around them). Whatever only a
// GPU can do is a separate function; tests provide their own when they compile the text for a CPU.
#pragma once

#include <string_view>

namespace taso::gpu::kernels {

/// Wrappers for hardware instructions. Shared memory is addressed by a `word`, also that of another block of the
/// cluster.
inline constexpr std::string_view tensor_instructions = R"(
typedef unsigned word;
#ifdef __CUDACC_RTC__
#if __CUDA_ARCH__ < 900
#error "clusters of blocks are needed"
#endif
extern __shared__ __align__(128) unsigned char shared_memory[];
__device__ __forceinline__ word shared_begin() { return static_cast<word>(__cvta_generic_to_shared(shared_memory)); }
__device__ __forceinline__ void copy_16(word to, const void* from, int bytes) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes));
}
/// By way of the nearer cache, for what is read again soon.
__device__ __forceinline__ void copy_16_near(word to, const void* from, int bytes) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes));
}
__device__ __forceinline__ void copy_4(word to, const void* from, int bytes) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to), "l"(from), "r"(bytes));
}
__device__ __forceinline__ void end_of_copies() { asm volatile("cp.async.commit_group;"); }
template <int most>
__device__ __forceinline__ void wait_for_copies() { asm volatile("cp.async.wait_group %0;" ::"n"(most) : "memory"); }
__device__ __forceinline__ void fetch(word (&to)[4], word from) {
  asm volatile("ld.shared.v4.u32 {%0,%1,%2,%3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3]) : "r"(from) : "memory");
}
__device__ __forceinline__ void fetch(float (&to)[4], word from) {
  asm volatile("ld.shared.v4.f32 {%0,%1,%2,%3}, [%4];"
               : "=f"(to[0]), "=f"(to[1]), "=f"(to[2]), "=f"(to[3]) : "r"(from) : "memory");
}
/// From this block's memory or that of another one.
__device__ __forceinline__ void fetch_anywhere(float (&to)[4], word from) {
  asm volatile("ld.shared::cluster.v4.f32 {%0,%1,%2,%3}, [%4];"
               : "=f"(to[0]), "=f"(to[1]), "=f"(to[2]), "=f"(to[3]) : "r"(from) : "memory");
}
/// The same address in another block of the cluster.
__device__ __forceinline__ word in_block(word at, int rank) {
  word other;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(other) : "r"(at), "r"(rank));
  return other;
}
__device__ __forceinline__ void keep(word to, float first, float second) {
  asm volatile("st.shared.v2.f32 [%0], {%1,%2};" ::"r"(to), "f"(first), "f"(second) : "memory");
}
/// A count of bytes that other blocks send; `at` is where it lies. Once made, the cluster has to meet before one is used.
__device__ __forceinline__ void make_count(word at, int bytes) {
  asm volatile("mbarrier.init.shared.b64 [%0], 1;\n"
               "fence.mbarrier_init.release.cluster;\n"
               "mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(at), "r"(bytes) : "memory");
}
/// What this block has written can be sent from here on, once its threads have met.
__device__ __forceinline__ void before_sending() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
/// Sends bytes to an address of another block, where they are counted at `count`.
__device__ __forceinline__ void send(word to, word from, int bytes, word count) {
#ifdef TASO_SEND_WORDS
  for (int i = 0; i < bytes; i += 16) {
    word part[4];
    fetch(part, from + i);
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1,%2,%3,%4}, [%5];" ::"r"(to + i),
                 "r"(part[0]), "r"(part[1]), "r"(part[2]), "r"(part[3]), "r"(count) : "memory");
  }
#else
  asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
               "r"(from), "r"(bytes), "r"(count) : "memory");
#endif
}
__device__ __forceinline__ void wait_for_count(word at) {
  word is_complete = 0;
  while (is_complete == 0)
    asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], 0;\n"
                 "selp.u32 %0, 1, 0, p;\n}" : "=r"(is_complete) : "r"(at) : "memory");
}
__device__ __forceinline__ void cluster_arrive() { asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory"); }
__device__ __forceinline__ void cluster_wait() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }
template <class T>
struct Instruction;
#define INSTRUCTION(element, depth_and_types)                                                                             \
  template <>                                                                                                             \
  struct Instruction<element> {                                                                                           \
    static __device__ __forceinline__ void multiply(float (&c)[4], word a0, word a1, word a2, word a3, word b0, word b1) { \
      asm volatile("mma.sync.aligned.m16n8" depth_and_types " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"      \
                   : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])                                                       \
                   : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));                                               \
    }                                                                                                                     \
  };
INSTRUCTION(float, "k8.row.col.f32.tf32.tf32.f32")
INSTRUCTION(f16, "k16.row.col.f32.f16.f16.f32")
INSTRUCTION(bf16, "k16.row.col.f32.bf16.bf16.f32")
#undef INSTRUCTION
__device__ __forceinline__ word bits(float x) { return __float_as_uint(x); }
__device__ __forceinline__ float from_bits(word x) { return __uint_as_float(x); }
__device__ __forceinline__ word low_halves(word a, word b) { return __byte_perm(a, b, 0x5410); }
__device__ __forceinline__ word high_halves(word a, word b) { return __byte_perm(a, b, 0x7632); }
#endif
)";

/// Sizes derived from the call and the tile: `in_chunk` elements in 16 bytes, a product of `rows` × `columns` and
/// `depth`, cut into tiles, with the depth of each tile cut among `split` blocks.
inline constexpr std::string_view tensor_sizes = R"(
constexpr int chunks = 8, slab = chunks * in_chunk, slabs = (depth + slab - 1) / slab;
constexpr int threads = 32 * warps_down * warps_across;
constexpr int warp_rows = tile_rows / warps_down, warp_columns = tile_columns / warps_across;
constexpr int parts_down = warp_rows / 16, parts_across = warp_columns / 8;
constexpr int left_bytes = tile_rows * 128, stage_bytes = left_bytes + tile_columns * 128;
constexpr int rows_at_once = threads / chunks;
constexpr int pitch = tile_columns + 8, own_rows = tile_rows / split;
constexpr int units = own_rows * tile_columns / 4, units_each = (units + threads - 1) / threads;
constexpr int slots_at = stages * stage_bytes, count_at = slots_at + tile_rows * pitch * 4;
constexpr int part_bytes = own_rows * pitch * 4;
constexpr int tiles_down = (rows + tile_rows - 1) / tile_rows;
/// Where a chunk of a row lies, so that neither those who copy nor those who fetch meet in a bank.
__device__ inline word place(int row, int chunk) { return static_cast<word>(row * 128 + (chunk ^ (row % 2 * 4)) * 16); }
/// The same for the right factor where columns lie side by side: a slab is then as many rows as it is deep.
__device__ inline word turned_place(int k, int chunk) {
  return static_cast<word>(k * (tile_columns / in_chunk * 16) + (chunk ^ (k / in_chunk % 4 * 2)) * 16);
}
)";

/// How float32 is rounded for tensor cores, or taken apart.
inline constexpr std::string_view tensor_rounding = R"(
/// To the nearest number with ten bits behind the point; the hardware leaves the others out. Close to the middle
/// between two it may be the wrong one of both; no-numbers and infinities stay what they are, which adding to the bits
/// would not do.
__device__ inline word rounded(word x) { return bits(from_bits(x) * 1.000336914f); }
/// What the hardware takes of a number, and what it leaves out. Together they have 22 of its 24 bits.
__device__ inline word upper(word x) { return x & 0xffffe000u; }
/// The same for numbers that are not infinite: less to do, and nearer to them.
__device__ inline word nearest(word x) { return upper(rounded(x)); }
__device__ inline word difference(word x, word y) { return bits(from_bits(x) - from_bits(y)); }
struct Quickly { static constexpr bool is_careful = false; };
struct Carefully { static constexpr bool is_careful = true; };
/// For the products with what is left out: infinity times a rest of nothing is not to be no number.
__device__ inline word finite(word x) { return (x & 0x7f800000u) == 0x7f800000u ? 0 : x; }
__device__ inline word lower(word x) {
  return upper(x) == x ? 0 : rounded(difference(x, upper(x)));
}
template <bool is_careful>
__device__ inline void take_apart(word& x, word& rest) {
  const word first = is_careful ? upper(x) : nearest(x);
  rest = is_careful ? lower(x) : difference(x, first);
  x = first;
}
template <bool is_careful>
__device__ inline word usable(word x) { return is_careful ? finite(x) : x; }
)";

/// From the start of the kernel to the sums of a block. `left` and `right` are the factors; `row_at` and `depth_at` are
/// generated for the call.
inline constexpr std::string_view tensor_sums = R"(
  const int thread = static_cast<int>(threadIdx.x), lane = thread % 32, warp = thread / 32, g = lane / 4, t = lane % 4;
  const int rank = static_cast<int>(blockIdx.x) % split, tile = static_cast<int>(blockIdx.x) / split;
  const int first_row = tile % tiles_down * tile_rows, first_column = tile / tiles_down * tile_columns;
  const int begin = rank * slabs / split, end = (rank + 1) * slabs / split;
  const word memory = shared_begin(), slots = memory + slots_at, count = memory + count_at;
  if (split > 1) {
    if (thread == 0) make_count(count, split * part_bytes);
    cluster_arrive();
  }
  const int chunk = thread % chunks, row = thread / chunks;
  constexpr int left_rows = (tile_rows + rows_at_once - 1) / rows_at_once;
  constexpr int right_rows = (tile_columns + rows_at_once - 1) / rows_at_once;
  Row from[left_rows];
#pragma unroll
  for (int i = 0; i < left_rows; ++i) from[i] = row_at(first_row + row + i * rows_at_once);

  const auto copy_right = [&](int s, int stage) {
    const word to = memory + static_cast<word>(stage * stage_bytes + left_bytes);
    if (are_columns_neighbours) {
      constexpr int in_row = tile_columns / in_chunk, all = slab * in_row;
#pragma unroll
      for (int i = 0; i < (all + threads - 1) / threads; ++i) {
        const int u = i * threads + thread, k = u / in_row, c = u % in_row;
        if (all % threads != 0 && u >= all) break;
        const int d = depth_of(s) + k, n = first_column + c * in_chunk;
        const bool is_inside = d < depth && n < columns;
        copy_16(to + turned_place(k, c), right + (is_inside ? d * right_pitch + n : 0), is_inside ? 16 : 0);
      }
      return;
    }
#pragma unroll
    for (int i = 0; i < right_rows; ++i) {
      const int r = row + i * rows_at_once, n = first_column + r, d = depth_of(s) + chunk * in_chunk;
      if (tile_columns % rows_at_once != 0 && r >= tile_columns) break;
      if (are_chunks_whole) {
        const bool is_inside = n < columns && d < depth;
        copy_16(to + place(r, chunk), right + (is_inside ? n * right_pitch + d : 0), is_inside ? 16 : 0);
      } else {
#pragma unroll
        for (int e = 0; e < in_chunk; ++e) {
          const bool is_inside = n < columns && d + e < depth;
          copy_4(to + place(r, chunk) + e * 4, right + (is_inside ? n * right_pitch + d + e : 0), is_inside ? 4 : 0);
        }
      }
    }
  };
  const auto copy_left = [&](int s, int stage) {
    const word to = memory + static_cast<word>(stage * stage_bytes);
    if (are_chunks_whole) {
      const Depth d = depth_at(depth_of(s) + chunk * in_chunk);
#pragma unroll
      for (int i = 0; i < left_rows; ++i) {
        const int r = row + i * rows_at_once;
        if (tile_rows % rows_at_once != 0 && r >= tile_rows) break;
        const bool is_inside = meet(from[i], d);
        const element* const source = left + (is_inside ? from[i].at + d.at : 0);
        if (windows > 1) copy_16_near(to + place(r, chunk), source, is_inside ? 16 : 0);
        else copy_16(to + place(r, chunk), source, is_inside ? 16 : 0);
      }
      return;
    }
#pragma unroll
    for (int e = 0; e < in_chunk; ++e) {
      const Depth d = depth_at(depth_of(s) + chunk * in_chunk + e);
#pragma unroll
      for (int i = 0; i < left_rows; ++i) {
        const int r = row + i * rows_at_once;
        if (tile_rows % rows_at_once != 0 && r >= tile_rows) break;
        const bool is_inside = meet(from[i], d);
        copy_4(to + place(r, chunk) + e * 4, left + (is_inside ? from[i].at + d.at : 0), is_inside ? 4 : 0);
      }
    }
  };
  if (is_right_weight) {  // does not depend on what ran before
#pragma unroll first_unrolled
    for (int s = 0; s < stages - 1; ++s)
      if (begin + s < end) copy_right(begin + s, s);
  }
  wait_for_earlier_kernels();
  // Blocks of the next kernel are put where there is room, which is not where they would share the work evenly. That costs
  // more than it saves where there is much to multiply.
  if (!is_exact) let_next_kernel_begin();
  float sums[parts_down][parts_across][4];
  const int warp_row = warp % warps_down * warp_rows, warp_column = warp / warps_down * warp_columns;
  const auto add_up = [&](auto care) {
    constexpr bool is_careful = decltype(care)::is_careful;
#pragma unroll first_unrolled
    for (int s = 0; s < stages - 1; ++s) {
      if (begin + s < end) {
        if (!is_right_weight || is_careful) copy_right(begin + s, s);
        copy_left(begin + s, s);
      }
      end_of_copies();
    }
#pragma unroll
    for (int i = 0; i < parts_down; ++i)
#pragma unroll
      for (int j = 0; j < parts_across; ++j)
#pragma unroll
        for (int e = 0; e < 4; ++e) sums[i][j][e] = 0;
    int stage = 0;
    for (int s = begin; s < end; ++s) {
      wait_for_copies<stages - 2>();
      __syncthreads();
      const int next = s + stages - 1, next_stage = stage == 0 ? stages - 1 : stage - 1;
      if (next < end) {
        copy_right(next, next_stage);
        copy_left(next, next_stage);
      }
      end_of_copies();
      const word a_at = memory + static_cast<word>(stage * stage_bytes), b_at = a_at + left_bytes;
      // Which column of the depth stands where in a fragment does not matter as long as it is the same for both factors: a
      // thread takes what lies side by side.
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        word a[parts_down][2][4], b[parts_across][4];
#pragma unroll
        for (int i = 0; i < parts_down; ++i)
#pragma unroll
          for (int e = 0; e < 2; ++e) fetch(a[i][e], a_at + place(warp_row + i * 16 + e * 8 + g, half * 4 + t));
        if (!are_columns_neighbours) {
#pragma unroll
          for (int j = 0; j < parts_across; ++j) fetch(b[j], b_at + place(warp_column + j * 8 + g, half * 4 + t));
        } else if (in_chunk == 4) {
#pragma unroll
          for (int e = 0; e < 4; ++e)
#pragma unroll
            for (int j = 0; j < parts_across; j += 4) {
              word v[4];
              fetch(v, b_at + turned_place(half * 16 + t * 4 + e, warp_column / 4 + j * 2 + g));
#pragma unroll
              for (int f = 0; f < 4; ++f) b[j + f][e] = v[f];
            }
        } else {
#pragma unroll
          for (int e = 0; e < 4; ++e)
#pragma unroll
            for (int j = 0; j < parts_across; j += 8) {
              word v[4], w[4];
              fetch(v, b_at + turned_place(half * 32 + t * 8 + 2 * e, warp_column / 8 + j + g));
              fetch(w, b_at + turned_place(half * 32 + t * 8 + 2 * e + 1, warp_column / 8 + j + g));
#pragma unroll
              for (int f = 0; f < 4; ++f) {
                b[j + 2 * f][e] = low_halves(v[f], w[f]);
                b[j + 2 * f + 1][e] = high_halves(v[f], w[f]);
              }
            }
        }
        if (is_exact) {  // the products of both parts, but for that of what is left out twice, which is too small to matter
          word a_rest[parts_down][2][4], b_rest[parts_across][4];
#pragma unroll
          for (int e = 0; e < 4; ++e) {
#pragma unroll
            for (int i = 0; i < parts_down; ++i)
#pragma unroll
              for (int f = 0; f < 2; ++f) take_apart<is_careful>(a[i][f][e], a_rest[i][f][e]);
#pragma unroll
            for (int j = 0; j < parts_across; ++j) take_apart<is_careful>(b[j][e], b_rest[j][e]);
          }
          // One sum after the other, so that none waits for its last product.
#pragma unroll
          for (int q = 0; q < 4; q += 2) {
#pragma unroll
            for (int i = 0; i < parts_down; ++i)
#pragma unroll
              for (int j = 0; j < parts_across; ++j)
                Instruction<element>::multiply(sums[i][j], a_rest[i][0][q], a_rest[i][1][q], a_rest[i][0][q + 1],
                                               a_rest[i][1][q + 1], usable<is_careful>(b[j][q]),
                                               usable<is_careful>(b[j][q + 1]));
#pragma unroll
            for (int i = 0; i < parts_down; ++i)
#pragma unroll
              for (int j = 0; j < parts_across; ++j)
                Instruction<element>::multiply(sums[i][j], usable<is_careful>(a[i][0][q]),
                                               usable<is_careful>(a[i][1][q]), usable<is_careful>(a[i][0][q + 1]),
                                               usable<is_careful>(a[i][1][q + 1]), b_rest[j][q], b_rest[j][q + 1]);
          }
        } else if (in_chunk == 4) {
#pragma unroll
          for (int e = 0; e < 4; ++e) {
#pragma unroll
            for (int i = 0; i < parts_down; ++i) {
              a[i][0][e] = rounded(a[i][0][e]);
              a[i][1][e] = rounded(a[i][1][e]);
            }
#pragma unroll
            for (int j = 0; j < parts_across; ++j) b[j][e] = rounded(b[j][e]);
          }
        }
#pragma unroll
        for (int q = 0; q < 4; q += 2)
#pragma unroll
          for (int i = 0; i < parts_down; ++i)
#pragma unroll
            for (int j = 0; j < parts_across; ++j)
              Instruction<element>::multiply(sums[i][j], a[i][0][q], a[i][1][q], a[i][0][q + 1], a[i][1][q + 1], b[j][q],
                                             b[j][q + 1]);
      }
      stage = stage + 1 == stages ? 0 : stage + 1;
    }
  };
  add_up(Quickly());
  if (is_exact) {
    // That was without regard to infinities. Where there were some, sums are not finite, and are made once more.
    float nothing = 0;
#pragma unroll
    for (int i = 0; i < parts_down; ++i)
#pragma unroll
      for (int j = 0; j < parts_across; ++j)
#pragma unroll
        for (int e = 0; e < 4; ++e) nothing += sums[i][j][e] * 0;
    if (__syncthreads_or(nothing == 0 ? 0 : 1)) add_up(Carefully());
    let_next_kernel_begin();
  }

  // Each block of the cluster adds up a part of the tile's rows. What a block has is written where copies came before, and
  // from there sent to the others, behind theirs.
  const word kept = split > 1 ? memory : slots;
  if (split > 1) {
    wait_for_copies<0>();
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < parts_down; ++i)
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      const word to = kept + static_cast<word>((warp_row + i * 16 + e * 8 + g) * pitch * 4);
#pragma unroll
      for (int j = 0; j < parts_across; ++j) {
        if (!are_columns_neighbours) {
          keep(to + static_cast<word>(warp_column + j * 8 + 2 * t) * 4, sums[i][j][2 * e], sums[i][j][2 * e + 1]);
        } else if (j % 2 == 0) {
          // Two parts have neighbouring columns of the two that a thread holds.
          constexpr int many = in_chunk;
          const int c = warp_column + j / many * many * 8 + 2 * t * many + j % many;
          keep(to + static_cast<word>(c) * 4, sums[i][j][2 * e], sums[i][j + 1][2 * e]);
          keep(to + static_cast<word>(c + many) * 4, sums[i][j][2 * e + 1], sums[i][j + 1][2 * e + 1]);
        }
      }
    }
  if (split > 1) {
    before_sending();
    cluster_wait();  // for all to have begun
  }
  __syncthreads();
  if (split > 1 && thread < split)
    send(in_block(slots + rank * part_bytes, thread), kept + thread * part_bytes, part_bytes, in_block(count, thread));
)";

/// Adds up four neighbouring elements over the blocks of the cluster.
inline constexpr std::string_view tensor_total = R"(
    float total[4] = {0, 0, 0, 0};
#pragma unroll
    for (int p = 0; p < split; ++p) {
      float part[4];
      fetch(part, slots + static_cast<word>(((p * own_rows + r) * pitch + c) * 4));
#pragma unroll
      for (int e = 0; e < 4; ++e) total[e] += part[e];
    }
)";

}  // namespace taso::gpu::kernels
