// Runs taso-verify on rules or properties, from the first file read to the last line printed.
#pragma once

#include <string>

#include "cli/console/console.h"
#include "cli/console/exit_code.h"
#include "cli/verify/settings.h"
#include "ops/cluster/communicator.h"

namespace taso::cli {

/// All ranks call it; only the first writes files and prints.
ExitCode verify_rules(const VerifySettings& settings, Console& console, Communicator& ranks);
/// The rules of all files as one rule file.
std::string print_rules(const VerifySettings& settings);

}  // namespace taso::cli
