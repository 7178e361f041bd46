// Recording: the kernels of models, and of what the search makes of them, are measured and kept, those that matter most first. It
// can be ended at any time, and goes on where it ended.
#pragma once

#include <memory>

#include "cli/bench/settings.h"
#include "cli/console/console.h"
#include "cli/console/ending.h"
#include "runtime/gpu/accelerator.h"

namespace taso::cli {

/// Every batch of the settings in every precision, in this order. Says at the end what is left. Throws what trouble_of() knows.
Ending record(const BenchSettings& settings, std::unique_ptr<gpu::Accelerator> gpu, Console& console);

}  // namespace taso::cli
