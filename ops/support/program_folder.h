// The folders of the running program and of its code. Modules and data are found relative to them, so that an
// installation can be moved.
#pragma once

#include <filesystem>

#include "ops/core/namespace.h"

namespace taso::ops {

/// The folder of the running program; empty if the system does not report it.
std::filesystem::path program_folder();
/// The folder of the library that this code is in; the program's if it is in no library.
std::filesystem::path code_folder();

}  // namespace taso::ops
