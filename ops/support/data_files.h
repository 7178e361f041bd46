// Where a program finds the files it ships with: rules, prices, examples.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "ops/core/namespace.h"

namespace taso::ops {

/// The file or folder `relative` (such as "rules/taso.rules") below $TASO_DATA, below share/taso of the installation
/// or build folder that the program runs from, or below the folder it was configured to be installed to; the first that
/// exists.
std::optional<std::filesystem::path> find_data_file(const std::filesystem::path& relative);
/// $XDG_CACHE_HOME/taso, or below ~/.cache; nothing where the user has no home, or one that does not exist.
std::optional<std::filesystem::path> user_cache_folder();
/// Why $TASO_DATA counts for nothing, if it is set and no folder; else nothing.
std::optional<std::string> trouble_with_data_folder();

}  // namespace taso::ops
