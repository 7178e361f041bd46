// What this program is made of, for bug reports.
#pragma once

#include <string>
#include <string_view>

namespace taso {

/// Such as "0.1.0".
std::string_view program_version();
/// Several lines: the program, the rule set's hash, the hash of the properties where the program knows it, and the
/// libraries; looks for CUDA.
std::string describe_versions(std::string_view program, std::string_view properties = {});

}  // namespace taso
