// Named sets of the operators that are enumerated, read from a file.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ops/text/source.h"

namespace taso::cli {

struct OperatorSet {
  std::string name;
  std::string about;                   ///< the comment above it, on one line
  std::vector<std::string> operators;  ///< with named sets replaced by their operators; each once
};

/// The first line is "taso operator sets 1". A set is its name, a colon, and operators or earlier sets; continued lines
/// are indented, '#' begins a comment, and `all` stands for every operator. Throws PlacedError.
std::vector<OperatorSet> parse_operator_sets(const Source& source);

/// The named file, or the shipped one.
std::filesystem::path operator_sets_path(const std::optional<std::filesystem::path>& named);
std::vector<OperatorSet> read_operator_sets(const std::filesystem::path& path);

/// The operators named by a list of sets and operators with commas: in the order of schema_names(), each once. Throws
/// UsageError.
std::vector<std::string> chosen_operators(std::string_view names, const std::vector<OperatorSet>& sets);

/// Several lines: the sets, then every operator with its attributes and families.
std::string describe_operators(const std::vector<OperatorSet>& sets);

}  // namespace taso::cli
