// Runs taso-bench, from the settings to the figures.
#pragma once

#include "cli/bench/settings.h"
#include "cli/console/console.h"
#include "cli/console/ending.h"

namespace taso::cli {

/// Throws the exceptions that trouble_of() knows.
Ending bench(const BenchSettings& settings, Console& console);

}  // namespace taso::cli
