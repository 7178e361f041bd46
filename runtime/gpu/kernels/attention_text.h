// The fixed parts of an attention kernel (attention.cpp writes the rest around them), beside those of tensor_text.h.
#pragma once

#include <string_view>

namespace taso::gpu::kernels {

/// Sizes derived from the call and the tile: each of `rows` queries meets `keys` keys of `depth` numbers, and gets a
/// sum of as many rows of `values` numbers. A block has tiles of `warps_down` × 16 rows; in each round its warps share
/// `tile_keys` keys. The `split` blocks of a cluster have rounds of their own, and the same rows.
inline constexpr std::string_view attention_sizes = R"(
constexpr int warps = warps_down * warps_across, threads = 32 * warps, tile_rows = 16 * warps_down;
constexpr int warp_keys = tile_keys / warps_across, key_parts = warp_keys / 8;
constexpr int rounds = (keys + tile_keys - 1) / tile_keys, own_rounds = (rounds + split - 1) / split;
constexpr int deep_parts = (depth + 4 * in_chunk - 1) / (4 * in_chunk);  // a chunk for each of four threads
constexpr int groups = (values + 8 * in_chunk - 1) / (8 * in_chunk), sum_parts = groups * in_chunk;
// So that threads that fetch at the same time meet in no bank.
constexpr int key_pitch = deep_parts * 64 + (deep_parts % 2 == 0 ? 64 : 0), value_pitch = groups * 128 + 16;
constexpr int query_bytes = tile_rows * key_pitch, stage_bytes = tile_keys * (key_pitch + value_pitch);
constexpr int exchange_bytes = (sum_parts + 1) * 512;  // of a warp, at the end
/// Copies rows into shared memory, with zeros behind their ends.
template <int count, int inside, int all, int pitch>
__device__ inline void copy_rows(word to, const element* from, int stride, int first, int limit, int thread) {
#pragma unroll 4  // not more: much code takes long to fetch
  for (int i = 0; i < (count * all + threads - 1) / threads; ++i) {
    const int u = i * threads + thread, r = u / all, c = u % all;
    if (count * all % threads != 0 && u >= count * all) break;
    const bool is_inside = first + r < limit && c < inside;
    copy_16(to + static_cast<word>(r * pitch + c * 16), from + (is_inside ? (first + r) * stride + c * in_chunk : 0),
            is_inside ? 16 : 0);
  }
}
__device__ inline word pair_of(float low, float high) {
  const element both[2] = {put<element>(low), put<element>(high)};
  word pair;
  memcpy(&pair, both, 4);
  return pair;
}
/// Adds products of 16 rows and 8 columns to sums. A thread has two parts of the left factor, which are rounded
/// (as_factor), and one of the right.
__device__ inline void multiply_parts(float (&sums)[4], const word (&a)[4], word b0, word b1) {
  if (is_exact) {
    word first[4], rest[4];
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      first[e] = upper(a[e]);
      rest[e] = lower(a[e]);
    }
    const word c0 = upper(b0), c1 = upper(b1), d0 = lower(b0), d1 = lower(b1);
    Instruction<element>::multiply(sums, rest[0], rest[1], rest[2], rest[3], finite(c0), finite(c1));
    Instruction<element>::multiply(sums, finite(first[0]), finite(first[1]), finite(first[2]), finite(first[3]), d0,
                                   d1);
    Instruction<element>::multiply(sums, first[0], first[1], first[2], first[3], c0, c1);
  } else if (in_chunk == 4) {
    Instruction<element>::multiply(sums, a[0], a[1], a[2], a[3], rounded(b0), rounded(b1));
  } else {
    Instruction<element>::multiply(sums, a[0], a[1], a[2], a[3], b0, b1);
  }
}
__device__ inline float of_four(float x, bool is_maximum) {  // over the threads that share a row
#pragma unroll
  for (int with = 1; with < 4; with *= 2) {
    const float other = __shfl_xor_sync(0xffffffffu, x, with);
    x = is_maximum ? fmaxf(x, other) : x + other;
  }
  return x;
}
/// A column of values times shares of 0: 0, or NaN if one of them is not finite.
__device__ inline float times_zero(const element* column, int stride) {
  float sum = 0;
#pragma unroll 1  // hardly ever needed
  for (int key = 0; key < keys; ++key) sum += 0.0f * get(column[key * stride]);
  return sum;
}
__device__ inline float power_of_e(float x) { return is_exact ? expf(x) : quick_exp(x); }
__device__ inline word as_factor(word x) { return in_chunk == 4 && !is_exact ? rounded(x) : x; }
/// What exponents are relative to: rows without a finite score are relative to 0, so that they add nothing.
__device__ inline float base_of(float top) { return top == -infinity() ? 0.0f : top; }
)";

/// From the start of the kernel to its first copies. `query`, `key` and `value` are the factors.
inline constexpr std::string_view attention_start = R"(
  const int thread = static_cast<int>(threadIdx.x), lane = thread % 32, warp = thread / 32, g = lane / 4, t = lane % 4;
  const int warp_row = warp % warps_down * 16, across = warp / warps_down;
  const int first_row = static_cast<int>(blockIdx.x) / split * tile_rows, rank = static_cast<int>(blockIdx.x) % split;
  const int first_round = rank * own_rounds;
  const int end = first_round + own_rounds < rounds ? first_round + own_rounds : rounds;
  const word memory = shared_begin(), stages = memory + query_bytes;
  const auto copy_round = [&](int round) {
    const word to = stages + static_cast<word>(round % 2 * stage_bytes);
    copy_rows<tile_keys, depth / in_chunk, deep_parts * 4, key_pitch>(to, key, key_stride, round * tile_keys, keys,
                                                                      thread);
    copy_rows<tile_keys, values / in_chunk, groups * 8, value_pitch>(to + tile_keys * key_pitch, value, value_stride,
                                                                     round * tile_keys, keys, thread);
  };
  wait_for_earlier_kernels();
  copy_rows<tile_rows, depth / in_chunk, deep_parts * 4, key_pitch>(memory, query, query_stride, first_row, rows,
                                                                    thread);
  copy_round(first_round);
  end_of_copies();
  float top[2] = {-infinity(), -infinity()}, total[2] = {0, 0}, sums[sum_parts][4];
#pragma unroll
  for (int i = 0; i < sum_parts; ++i)
#pragma unroll
    for (int e = 0; e < 4; ++e) sums[i][e] = 0;
  word q[deep_parts][2][4];
)";

/// The start of a round: operands of the steps on the scores are then read while copies are on their way.
inline constexpr std::string_view attention_round = R"(
  for (int round = first_round; round < end; ++round) {
    if (round + 1 < end) copy_round(round + 1);
    end_of_copies();
    const int first_key = round * tile_keys + across * warp_keys;
)";

/// The scores of a round.
inline constexpr std::string_view attention_scores = R"(
    wait_for_copies<1>();
    __syncthreads();
    if (round == first_round) {
#pragma unroll
      for (int i = 0; i < deep_parts; ++i)
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          fetch(q[i][e], memory + static_cast<word>((warp_row + e * 8 + g) * key_pitch + (i * 4 + t) * 16));
#pragma unroll
          for (int c = 0; c < 4; ++c) q[i][e][c] = as_factor(q[i][e][c]);
        }
    }
    const word keys_at = stages + static_cast<word>(round % 2 * stage_bytes + across * warp_keys * key_pitch);
    const word values_at =
        stages + static_cast<word>(round % 2 * stage_bytes + tile_keys * key_pitch + across * warp_keys * value_pitch);
    float scores[key_parts][4];
#pragma unroll
    for (int j = 0; j < key_parts; ++j)
#pragma unroll
      for (int e = 0; e < 4; ++e) scores[j][e] = 0;
#pragma unroll
    for (int i = 0; i < deep_parts; ++i)
#pragma unroll
      for (int j = 0; j < key_parts; ++j) {
        word k[4];
        fetch(k, keys_at + static_cast<word>((j * 8 + g) * key_pitch + (i * 4 + t) * 16));
#pragma unroll
        for (int e = 0; e < 4; e += 2) {
          const word a[4] = {q[i][0][e], q[i][1][e], q[i][0][e + 1], q[i][1][e + 1]};
          multiply_parts(scores[j], a, k[e], k[e + 1]);
        }
      }
)";

/// Scores beyond the last key.
inline constexpr std::string_view attention_end = R"(
    if (first_key + warp_keys > keys) {
#pragma unroll
      for (int j = 0; j < key_parts; ++j)
#pragma unroll
        for (int e = 0; e < 4; ++e)
          if (first_key + j * 8 + 2 * t + e % 2 >= keys) scores[j][e] = -infinity();
    }
)";

/// From the scores of a round to the sums of a row, which the first warp across has in the end.
inline constexpr std::string_view attention_sums = R"(
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      float most = top[h];
#pragma unroll
      for (int j = 0; j < key_parts; ++j) most = fmaxf(most, fmaxf(scores[j][2 * h], scores[j][2 * h + 1]));
      most = of_four(most, true);
      const float base = base_of(most);
      if (most != top[h]) {  // seldom, after the first rounds
        const float factor = power_of_e(top[h] - base);
        total[h] *= factor;
#pragma unroll
        for (int i = 0; i < sum_parts; ++i) {
          sums[i][2 * h] *= factor;
          sums[i][2 * h + 1] *= factor;
        }
        top[h] = most;
      }
#pragma unroll
      for (int j = 0; j < key_parts; ++j)
#pragma unroll
        for (int e = 2 * h; e < 2 * h + 2; ++e) {
          scores[j][e] = power_of_e(scores[j][e] - base);
          total[h] += scores[j][e];
        }
    }
    // Which key stands where in a fragment does not matter as long as it is the same for both factors: the scores of a
    // thread are a part of the left factor as they are.
    if (in_chunk == 4) {
#pragma unroll
      for (int j = 0; j < key_parts; ++j) {
        const word a[4] = {as_factor(bits(scores[j][0])), as_factor(bits(scores[j][2])),
                           as_factor(bits(scores[j][1])), as_factor(bits(scores[j][3]))};
#pragma unroll
        for (int i = 0; i < groups; ++i) {
          word v[4], w[4];
          const word at = values_at + static_cast<word>((j * 8 + 2 * t) * value_pitch + (i * 8 + g) * 16);
          fetch(v, at);
          fetch(w, at + value_pitch);
#pragma unroll
          for (int f = 0; f < 4; ++f) multiply_parts(sums[i * in_chunk + f], a, v[f], w[f]);
        }
      }
    } else {
#pragma unroll
      for (int j = 0; j < key_parts; j += 2) {
        const word a[4] = {pair_of(scores[j][0], scores[j][1]), pair_of(scores[j][2], scores[j][3]),
                           pair_of(scores[j + 1][0], scores[j + 1][1]), pair_of(scores[j + 1][2], scores[j + 1][3])};
#pragma unroll
        for (int i = 0; i < groups; ++i) {
          word v[4], w[4], x[4], y[4];
          const word at = values_at + static_cast<word>((j * 8 + 2 * t) * value_pitch + (i * 8 + g) * 16);
          fetch(v, at);
          fetch(w, at + value_pitch);
          fetch(x, at + 8 * value_pitch);
          fetch(y, at + 9 * value_pitch);
#pragma unroll
          for (int f = 0; f < 4; ++f) {
            multiply_parts(sums[i * in_chunk + 2 * f], a, low_halves(v[f], w[f]), low_halves(x[f], y[f]));
            multiply_parts(sums[i * in_chunk + 2 * f + 1], a, high_halves(v[f], w[f]), high_halves(x[f], y[f]));
          }
        }
      }
    }
    __syncthreads();  // before the next copies overwrite this round's
  }
  let_next_kernel_begin();  // not before: its blocks would take the place of some of this kernel
  total[0] = of_four(total[0], false);
  total[1] = of_four(total[1], false);
  // What other warps, and then other blocks, have of the same rows is added.
  const word own = memory + static_cast<word>(warp * exchange_bytes + lane * 16);
  const auto show = [&] {
    keep(own, top[0], top[1]);
    keep(own + 8, total[0], total[1]);
#pragma unroll
    for (int i = 0; i < sum_parts; ++i) {
      keep(own + (i + 1) * 512, sums[i][0], sums[i][1]);
      keep(own + (i + 1) * 512 + 8, sums[i][2], sums[i][3]);
    }
  };
  const auto add_other = [&](word from) {
    float known[4];  // the highest scores of both rows, and their totals
    fetch_anywhere(known, from);
    float factor[2], of_other[2];
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const float most = fmaxf(top[h], known[h]), base = base_of(most);
      factor[h] = power_of_e(top[h] - base);
      of_other[h] = power_of_e(known[h] - base);
      total[h] = total[h] * factor[h] + known[2 + h] * of_other[h];
      top[h] = most;
    }
#pragma unroll
    for (int i = 0; i < sum_parts; ++i) {
      float more[4];
      fetch_anywhere(more, from + (i + 1) * 512);
#pragma unroll
      for (int e = 0; e < 4; ++e) sums[i][e] = sums[i][e] * factor[e / 2] + more[e] * of_other[e / 2];
    }
  };
  if (warps_across > 1) {
    if (across > 0) show();
    __syncthreads();
    if (across > 0) return;
#pragma unroll 1
    for (int other = 1; other < warps_across; ++other)
      add_other(own + static_cast<word>(other * warps_down * exchange_bytes));
  }
  if (split > 1) {
    if (rank > 0) show();
    cluster_arrive();
    cluster_wait();
    if (rank > 0) {
      cluster_arrive();
      cluster_wait();  // until the first block has read
      return;
    }
#pragma unroll 1
    for (int other = 1; other < split; ++other) add_other(in_block(own, other));
    cluster_arrive();
  }
  const float share[2] = {1 / total[0], 1 / total[1]};
)";

}  // namespace taso::gpu::kernels
