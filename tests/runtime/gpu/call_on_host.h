// What a call means, computed on bytes that lie as it says: what kernels are compared with.
#pragma once

#include "runtime/gpu/accelerator.h"

namespace taso::test {

/// Writes what the call writes. Operators are evaluated in float64, whatever their operands are stored as, unless
/// `in_its_type`.
void run_on_host(const cost::Call& call, const std::vector<const std::byte*>& read,
                 const std::vector<std::byte*>& written, bool in_its_type = false);

/// A whole program, step by step, on memory as a device has it; in another order than the steps', if one is given.
std::vector<std::vector<std::byte>> run_on_host(const gpu::DeviceSteps& steps,
                                                const std::vector<std::vector<std::byte>>& inputs,
                                                const std::vector<std::uint32_t>& order = {});

/// The bytes from the first to the last element.
std::int64_t span_bytes(const cost::Call::Operand& operand);
/// The elements, row by row, of what lies there.
Array gathered(const cost::Call::Operand& operand, const std::byte* data);

}  // namespace taso::test
