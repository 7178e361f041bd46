// Writes requested data to a file or to the standard output.
#pragma once

#include <filesystem>
#include <string_view>

namespace taso::cli {

/// "-" means the standard input for reading and the standard output for writing.
bool is_standard_stream(const std::filesystem::path& file);
/// Writes the whole file or nothing; or writes to the standard output. Throws EnvironmentError.
void write_output(const std::filesystem::path& file, std::string_view text);
/// Finds out before the work whether the file can be written. Leaves nothing behind. Throws EnvironmentError.
void check_writable(const std::filesystem::path& file);

}  // namespace taso::cli
