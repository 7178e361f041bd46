// What the console says while kernels are measured.
#pragma once

#include <memory>

#include "cli/console/console.h"
#include "runtime/pricing/watcher.h"

namespace taso::cli {

/// Shows the progress, and ends the measuring when the program is interrupted. The console must outlive it.
std::unique_ptr<pricing::Watcher> measuring_on(Console& console);

}  // namespace taso::cli
