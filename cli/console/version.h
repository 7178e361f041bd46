// What this program is made of, for bug reports.
#pragma once

#include <string>
#include <string_view>

namespace taso::cli {

/// Such as "0.1.0".
std::string_view program_version();
/// Several lines: the program, the hash of the rules that come with it, that of the properties, and the libraries; looks for
/// CUDA.
std::string describe_versions(std::string_view program);

}  // namespace taso::cli
