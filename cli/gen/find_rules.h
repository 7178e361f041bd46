// Runs taso-gen from the first file read to the last line printed.
#pragma once

#include "cli/console/console.h"
#include "cli/console/exit_code.h"
#include "cli/gen/settings.h"
#include "ops/cluster/communicator.h"

namespace taso::cli {

/// All ranks call it. Only the first writes files and prints.
ExitCode find_rules(const GenSettings& settings, Console& console, Communicator& ranks);

}  // namespace taso::cli
