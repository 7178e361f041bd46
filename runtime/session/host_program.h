// A program for a device that computes everything on the host, in one step. Inputs and outputs may still be on the
// device. For graphs that a GPU has no plan for: its kernels expect operands with elements.
#pragma once

#include <memory>
#include <vector>

#include "cost/pricing/precision.h"
#include "ops/graph/graph.h"
#include "runtime/gpu/accelerator.h"
#include "runtime/session/sizes.h"

namespace taso::runtime {

struct HostProgram {
  std::unique_ptr<gpu::DeviceProgram> program;
  std::vector<Extents> outputs;
};

/// `graph` must live as long as the program. Throws InputError if a size of an output is not known before the run.
HostProgram host_program(const Graph& graph, const Sizes& sizes, gpu::Accelerator& gpu, cost::Precision precision,
                         unsigned threads, gpu::DeviceMemory memory);

}  // namespace taso::runtime
