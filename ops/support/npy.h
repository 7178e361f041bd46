// NumPy's .npy files, which people have test data in.
#pragma once

#include <filesystem>

#include "ops/core/array.h"

namespace taso::ops {

/// Reads versions 1 to 3, little-endian, in C or Fortran order. NumPy has no bfloat16 and stores it as two bytes of no
/// type (V2): those are read as bfloat16, and nothing else of that kind. Throws InputError for anything else, data that
/// is too short or too long included.
Array read_npy(const std::filesystem::path& path);

/// The same from the bytes of a file.
Array parse_npy(std::string_view bytes);

}  // namespace taso::ops
