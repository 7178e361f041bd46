// Parses the values of flags, with the same error messages in every program.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "cli/console/console.h"

namespace taso::cli {

/// All of these throw UsageError.
std::uint64_t whole_number(const std::string& flag, const std::string& text, std::uint64_t most,
                           std::uint64_t least = 0);
/// A finite number, 0 or greater.
double number_from_zero(const std::string& flag, const std::string& text);
double number_between(const std::string& flag, const std::string& text, double least, double most);
/// Bytes: "4G", "512M", "1.5GiB", "65536"; units are powers of 1024.
std::size_t byte_count(const std::string& flag, const std::string& text);
/// For flags that need a file: "-" is refused. Returns nothing if the text is empty.
std::optional<std::filesystem::path> named_file(const std::string& flag, const std::string& text);

/// A value of --color, as take_apart() lets it through; empty means `auto`.
Console::Color color_named(const std::string& text);

}  // namespace taso::cli
