// Runs taso-opt, from the options to the written model.
#pragma once

#include <memory>

#include "cli/console/console.h"
#include "cli/console/exit_code.h"
#include "cli/opt/settings.h"
#include "cli/opt/steps/steps.h"
#include "runtime/gpu/accelerator.h"

namespace taso::cli {

/// Throws the exceptions that failure_of() knows; no output is written then. If `gpu` is null and a GPU is needed,
/// opens this machine's. `spoil` is for tests: it changes the certificate before it is replayed, as a bug might.
ExitCode optimise(const OptSettings& options, Console& console, std::shared_ptr<gpu::Accelerator> gpu = nullptr,
                  const Spoil& spoil = nullptr);

}  // namespace taso::cli
