// The inner loop of SHA-256, with the processor's SHA instructions where it has them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "ops/core/namespace.h"

namespace taso::ops {

using Sha256State = std::array<std::uint32_t, 8>;
inline constexpr std::size_t sha256_block = 64;

/// Mixes `count` blocks of 64 bytes into the state.
using AbsorbBlocks = void (*)(Sha256State& state, const char* blocks, std::size_t count);

/// Runs on any processor.
void absorb_plainly(Sha256State& state, const char* blocks, std::size_t count);
/// The version with SHA instructions; null if this processor has none.
AbsorbBlocks absorb_by_instructions();

}  // namespace taso::ops
