// Console messages while kernels are measured.
#pragma once

#include <memory>

#include "cli/console/console.h"
#include "runtime/pricing/watcher.h"

namespace taso::cli {

/// Shows progress, and stops measuring when the program is interrupted. The console must outlive it.
std::unique_ptr<pricing::Watcher> measuring_on(Console& console);

}  // namespace taso::cli
