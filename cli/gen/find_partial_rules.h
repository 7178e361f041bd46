// Runs taso-gen --partial from the first file read to the last line printed.
#pragma once

#include "cli/console/console.h"
#include "cli/console/exit_code.h"
#include "cli/gen/settings.h"

namespace taso::cli {

ExitCode find_partial_rules(const GenSettings& settings, Console& console);

}  // namespace taso::cli
