#include "ops/support/sha256_blocks.h"

#include <bit>

// Only the functions that use SHA instructions are compiled for them, so that the rest runs on every processor. Clang's
// header for ARM supports this from version 16 on.
#if defined(__aarch64__) && defined(__linux__) && \
    (!defined(__clang__) || __clang_major__ >= 16 || defined(__ARM_FEATURE_SHA2))
#define TASO_SHA256_ARM
#include <arm_neon.h>
#include <asm/hwcap.h>
#include <sys/auxv.h>
#elif defined(__x86_64__)
#define TASO_SHA256_X86
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace taso::ops {
namespace {

// SHA-256 as in FIPS 180-4. Its constants are fractional parts of roots of the first primes: the first 64 cube roots
// here, the first 8 square roots in the initial state.
constexpr std::array<std::uint32_t, 64> round_constants{
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

void absorb_one(Sha256State& state, const char* block) {
  std::array<std::uint32_t, 64> w{};
  for (std::size_t i = 0; i < sha256_block; ++i) w[i / 4] = (w[i / 4] << 8) | static_cast<unsigned char>(block[i]);
  for (std::size_t i = 16; i < 64; ++i) {
    const std::uint32_t a = w[i - 15], b = w[i - 2];
    w[i] = w[i - 16] + (std::rotr(a, 7) ^ std::rotr(a, 18) ^ (a >> 3)) + w[i - 7] +
           (std::rotr(b, 17) ^ std::rotr(b, 19) ^ (b >> 10));
  }
  auto [a, b, c, d, e, f, g, h] = state;
  for (std::size_t i = 0; i < 64; ++i) {
    const std::uint32_t first =
        h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) + ((e & f) ^ (~e & g)) + round_constants[i] + w[i];
    const std::uint32_t second =
        (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + first, d = c, c = b, b = a, a = first + second;
  }
  const Sha256State mixed{a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < state.size(); ++i) state[i] += mixed[i];
}

#ifdef TASO_SHA256_ARM

bool has_instructions() { return (::getauxval(AT_HWCAP) & HWCAP_SHA2) != 0; }

/// Does four rounds at a time. w[i % 4] holds their message words, and then those of sixteen rounds later.
__attribute__((target("+crypto"))) void absorb_with_instructions(Sha256State& state, const char* blocks,
                                                                 std::size_t count) {
  uint32x4_t abcd = vld1q_u32(state.data()), efgh = vld1q_u32(state.data() + 4);
  for (; count > 0; --count, blocks += sha256_block) {
    uint32x4_t w[4];
    for (std::size_t i = 0; i < 4; ++i)
      w[i] = vreinterpretq_u32_u8(vrev32q_u8(vld1q_u8(reinterpret_cast<const std::uint8_t*>(blocks) + 16 * i)));
    const uint32x4_t old_abcd = abcd, old_efgh = efgh;
#pragma GCC unroll 16
    for (std::size_t i = 0; i < 16; ++i) {
      const uint32x4_t sum = vaddq_u32(w[i % 4], vld1q_u32(round_constants.data() + 4 * i));
      if (i < 12) w[i % 4] = vsha256su1q_u32(vsha256su0q_u32(w[i % 4], w[(i + 1) % 4]), w[(i + 2) % 4], w[(i + 3) % 4]);
      const uint32x4_t before = abcd;
      abcd = vsha256hq_u32(abcd, efgh, sum);
      efgh = vsha256h2q_u32(efgh, before, sum);
    }
    abcd = vaddq_u32(abcd, old_abcd);
    efgh = vaddq_u32(efgh, old_efgh);
  }
  vst1q_u32(state.data(), abcd);
  vst1q_u32(state.data() + 4, efgh);
}

#elif defined(TASO_SHA256_X86)

bool has_instructions() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned ssse3 = 1U << 9, sse4_1 = 1U << 19, sha = 1U << 29;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & ssse3) == 0 || (c & sse4_1) == 0) return false;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & sha) != 0;
}

/// Does four rounds at a time. w[i % 4] holds their message words, and then those of sixteen rounds later. The
/// instructions take the state in two halves, a b e f and c d g h, with the first word in the highest lane.
__attribute__((target("sha,sse4.1,ssse3"))) void absorb_with_instructions(Sha256State& state, const char* blocks,
                                                                          std::size_t count) {
  const auto word = [&](std::size_t i) { return static_cast<int>(state[i]); };
  __m128i abef = _mm_set_epi32(word(0), word(1), word(4), word(5));
  __m128i cdgh = _mm_set_epi32(word(2), word(3), word(6), word(7));
  const __m128i reversed = _mm_set_epi8(12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3);
  for (; count > 0; --count, blocks += sha256_block) {
    __m128i w[4];
    for (std::size_t i = 0; i < 4; ++i)
      w[i] = _mm_shuffle_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(blocks + 16 * i)), reversed);
    const __m128i old_abef = abef, old_cdgh = cdgh;
#pragma GCC unroll 16
    for (std::size_t i = 0; i < 16; ++i) {
      const __m128i sum =
          _mm_add_epi32(w[i % 4], _mm_loadu_si128(reinterpret_cast<const __m128i*>(round_constants.data() + 4 * i)));
      if (i < 12) {
        const __m128i seventh = _mm_alignr_epi8(w[(i + 3) % 4], w[(i + 2) % 4], 4);
        w[i % 4] = _mm_sha256msg2_epu32(_mm_add_epi32(_mm_sha256msg1_epu32(w[i % 4], w[(i + 1) % 4]), seventh),
                                        w[(i + 3) % 4]);
      }
      cdgh = _mm_sha256rnds2_epu32(cdgh, abef, sum);
      abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(sum, 0x0e));
    }
    abef = _mm_add_epi32(abef, old_abef);
    cdgh = _mm_add_epi32(cdgh, old_cdgh);
  }
  alignas(16) std::array<std::uint32_t, 4> first{}, second{};
  _mm_store_si128(reinterpret_cast<__m128i*>(first.data()), abef);
  _mm_store_si128(reinterpret_cast<__m128i*>(second.data()), cdgh);
  state = {first[3], first[2], second[3], second[2], first[1], first[0], second[1], second[0]};
}

#endif

}  // namespace

void absorb_plainly(Sha256State& state, const char* blocks, std::size_t count) {
  for (; count > 0; --count, blocks += sha256_block) absorb_one(state, blocks);
}

AbsorbBlocks absorb_by_instructions() {
#if defined(TASO_SHA256_ARM) || defined(TASO_SHA256_X86)
  static const bool there = has_instructions();
  return there ? absorb_with_instructions : nullptr;
#else
  return nullptr;
#endif
}

}  // namespace taso::ops
