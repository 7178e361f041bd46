// Runs taso-bench, from the settings to the figures.
#pragma once

#include "cli/bench/settings.h"
#include "cli/console/console.h"
#include "cli/console/exit_code.h"

namespace taso::cli {

/// Throws the exceptions that failure_of() knows.
ExitCode bench(const BenchSettings& settings, Console& console);

}  // namespace taso::cli
