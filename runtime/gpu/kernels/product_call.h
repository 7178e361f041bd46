// What our own kernels for products ask of a call.
#pragma once

#include "runtime/gpu/kernels/computation.h"

namespace taso::gpu::kernels {

/// The shared memory of a block.
inline constexpr std::int64_t most_shared_bytes = 200 << 10;

/// Whether a call is a product followed by element-wise steps and perhaps a transpose, of one floating-point type of at
/// most 32 bits, with offsets that fit into an `int`.
bool is_plain_product(const cost::Call& call, const Values& values);

/// The elements that are moved at once: 16 bytes.
std::int64_t elements_in_chunk(const cost::Call::Operand& operand);

}  // namespace taso::gpu::kernels
