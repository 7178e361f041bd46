// The properties that proofs rest on: those that come with taso, or a file of one's own.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "rules/language/rule.h"

namespace taso::cli {

/// The file that is named, or the one that comes with taso. Throws EnvironmentError if that is not found.
std::filesystem::path properties_path(const std::optional<std::filesystem::path>& named);

/// Of what they say, under which names and in which order: proofs depend on all of it.
std::string hash_of_properties(const std::vector<rules::Rule>& properties);

/// Hash and number of those that come with taso, for `--version`; says so if they cannot be read.
std::string describe_properties();

}  // namespace taso::cli
