// Where modules lie: libraries that a program loads at run time, if they are there.
#pragma once

#include <filesystem>

#include "ops/core/namespace.h"

namespace taso::ops {

/// The module of that file name, in an installation, a moved one or a build folder; empty if there is none.
std::filesystem::path find_module(const char* name);

}  // namespace taso::ops
