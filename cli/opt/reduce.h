// taso-opt --reduce: makes a failing model small.
#pragma once

#include "cli/console/console.h"
#include "cli/console/exit_code.h"
#include "cli/opt/settings.h"

namespace taso::cli {

/// Leaves out as many nodes as possible while taso-opt, or the command of --reduce-with, still fails in the same way,
/// and writes what is left to options.output. An interrupt ends it with the smallest model so far.
ExitCode reduce(const OptSettings& options, Console& console);

}  // namespace taso::cli
