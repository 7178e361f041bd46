// Where data goes that was asked for: to a file, or to the standard output.
#pragma once

#include <filesystem>
#include <string_view>

namespace taso::cli {

/// "-": the standard input of what is read, the standard output of what is written.
bool is_standard_stream(const std::filesystem::path& file);
/// Writes to the file, which appears whole or not at all, or to the standard output. Throws EnvironmentError.
void write_output(const std::filesystem::path& file, std::string_view text);
/// Trouble that would only show after the work: better now. Leaves nothing behind. Throws EnvironmentError.
void check_writable(const std::filesystem::path& file);

}  // namespace taso::cli
