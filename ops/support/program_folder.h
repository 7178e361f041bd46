// The folder of the running program. Modules and data are found relative to it, so that an installation can be moved.
#pragma once

#include <filesystem>

#include "ops/core/namespace.h"

namespace taso::ops {

/// The folder of the running program; empty if the system does not report it.
std::filesystem::path program_folder();

}  // namespace taso::ops
