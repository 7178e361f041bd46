// Where the running program lies: its module and its data are found from there, so that an installation can be moved.
#pragma once

#include <filesystem>

#include "ops/core/namespace.h"

namespace taso::ops {

/// The folder of the running program; empty where the system does not say.
std::filesystem::path program_folder();

}  // namespace taso::ops
