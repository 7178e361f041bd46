// Computes the meaning of a call on bytes in its layout, to compare kernels with.
#pragma once

#include "runtime/gpu/accelerator.h"

namespace taso::test {

/// Writes the results of the call. Evaluates operators in float64, whatever the stored type, unless `in_its_type`.
void run_on_host(const cost::Call& call, const std::vector<const std::byte*>& read,
                 const std::vector<std::byte*>& written, bool in_its_type = false);

/// Weights of a program for others, as on a device.
struct HostWeights : gpu::WeightBlock {
  explicit HostWeights(std::vector<std::byte> all) : bytes(std::move(all)) {}
  std::vector<std::byte> bytes;
};

/// Runs a whole program step by step, on memory as on a device; in the given order of steps, if there is one. Inputs
/// that may be the memory of an output are, if that is asked for.
std::vector<std::vector<std::byte>> run_on_host(const gpu::DeviceSteps& steps,
                                                const std::vector<std::vector<std::byte>>& inputs,
                                                const std::vector<std::uint32_t>& order = {}, bool in_place = false);

/// The bytes from the first to the last element.
std::int64_t span_bytes(const cost::Call::Operand& operand);
/// The elements of an operand in row-major order.
Array gathered(const cost::Call::Operand& operand, const std::byte* data);

}  // namespace taso::test
