// What taso-opt does: from the options to the written model.
#pragma once

#include "cli/console.h"
#include "cli/ending.h"
#include "cli/opt_options.h"

namespace taso {

/// Throws what trouble_of() knows; whatever is thrown, no output is written.
Ending optimise(const OptOptions& options, Console& console);

}  // namespace taso
