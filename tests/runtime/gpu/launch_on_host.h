// Runs the lowerings of a call on the CPU: products of libraries by their definition, our own kernels from their
// source.
#pragma once

#include <cstddef>
#include <vector>

#include "runtime/gpu/launch.h"
#include "tests/runtime/gpu/source_kernels.h"

namespace taso::test {

/// Runs a product with its epilogue, on the call's operands and scratch memory.
void run_on_host(const gpu::ConvolutionLaunch& launch, const std::vector<std::byte*>& read,
                 const std::vector<std::byte*>& written, std::byte* scratch);
void run_on_host(const gpu::MatmulLaunch& launch, const std::vector<std::byte*>& read,
                 const std::vector<std::byte*>& written, std::byte* scratch);
std::byte* place_of(const gpu::Argument& argument, const std::vector<std::byte*>& read,
                    const std::vector<std::byte*>& written, std::byte* scratch);

}  // namespace taso::test
