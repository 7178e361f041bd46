// Reads NumPy's .npy files, a common format for test data.
#pragma once

#include <filesystem>

#include "ops/core/array.h"

namespace taso::ops {

/// Reads versions 1 to 3, little-endian, in C or Fortran order. NumPy has no bfloat16 and stores it as untyped two-byte
/// elements (V2); these are read as bfloat16. Throws InputError for anything else, also for data that is too short or
/// too long.
Array read_npy(const std::filesystem::path& path);

/// Parses the bytes of a .npy file.
Array parse_npy(std::string_view bytes);

}  // namespace taso::ops
