// The properties that proofs rest on: the shipped ones, or the user's own file.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "rules/language/rule.h"

namespace taso::cli {

/// The named file, or the shipped one. Throws EnvironmentError if that is not found.
std::filesystem::path properties_path(const std::optional<std::filesystem::path>& named);

/// Hashes the contents, names and order of the properties: proofs depend on all of them.
std::string hash_of_properties(const std::vector<rules::Rule>& properties);

/// Hash and number of the shipped properties, for `--version`; says so if they cannot be read.
std::string describe_properties();

}  // namespace taso::cli
