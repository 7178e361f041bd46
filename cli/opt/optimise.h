// What taso-opt does: from the options to the written model.
#pragma once

#include <memory>

#include "cli/console/console.h"
#include "cli/console/ending.h"
#include "cli/opt/options.h"
#include "cli/opt/steps/steps.h"
#include "runtime/gpu/accelerator.h"

namespace taso::cli {

/// Throws what trouble_of() knows; whatever is thrown, no output is written. Without `gpu` it opens this machine's, where
/// one is asked for. `spoil` is for tests: it changes the certificate before it is replayed, as a fault of ours might.
Ending optimise(const OptOptions& options, Console& console, std::unique_ptr<gpu::Accelerator> gpu = nullptr,
                const Spoil& spoil = nullptr);

}  // namespace taso::cli
