// Ways to do a call, run on the CPU: libraries' products by what they are told to compute, our own kernels as they are.
#pragma once

#include <cstddef>
#include <vector>

#include "runtime/gpu/launch.h"
#include "tests/runtime/gpu/source_kernels.h"

namespace taso::test {

/// A product with all that is done to it, on places of the call's operands and in scratch memory.
void run_on_host(const gpu::ConvolutionLaunch& launch, const std::vector<std::byte*>& read,
                 const std::vector<std::byte*>& written, std::byte* scratch);
void run_on_host(const gpu::MatmulLaunch& launch, const std::vector<std::byte*>& read,
                 const std::vector<std::byte*>& written, std::byte* scratch);
std::byte* place_of(const gpu::Argument& argument, const std::vector<std::byte*>& read,
                    const std::vector<std::byte*>& written, std::byte* scratch);

}  // namespace taso::test
