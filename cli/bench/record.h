// Records prices: measures and keeps the kernels of models and of the graphs that the search finds, the most important
// first. It can be interrupted at any time; the next run continues.
#pragma once

#include <memory>

#include "cli/bench/settings.h"
#include "cli/console/console.h"
#include "cli/console/exit_code.h"
#include "runtime/gpu/accelerator.h"

namespace taso::cli {

/// Goes through every batch of the settings in every precision, in this order. Reports at the end what is left. Throws
/// the exceptions that failure_of() knows.
ExitCode record(const BenchSettings& settings, std::shared_ptr<gpu::Accelerator> gpu, Console& console);

}  // namespace taso::cli
