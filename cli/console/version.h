// Versions of the program and its libraries, for bug reports.
#pragma once

#include <string>
#include <string_view>

namespace taso::cli {

/// Such as "0.1.0".
std::string_view program_version();
/// Several lines: the program, hashes of the shipped rules and properties, and the libraries. Looks for CUDA.
std::string describe_versions(std::string_view program);

}  // namespace taso::cli
