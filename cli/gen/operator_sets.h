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
  std::vector<std::string> operators;  ///< sets that it names are replaced by what they hold; each once
};

/// The first line is "taso operator sets 1". Below it, a set is its name, a colon, and operators and sets that stand
/// above it; lines that go on are indented, '#' begins a comment, and the word `all` stands for every operator.
/// Throws PlacedError.
std::vector<OperatorSet> parse_operator_sets(const Source& source);

/// The file that is named, or the one that comes with taso.
std::filesystem::path operator_sets_path(const std::optional<std::filesystem::path>& named);
std::vector<OperatorSet> read_operator_sets(const std::filesystem::path& path);

/// Names of sets and operators with commas between them, as operators: in the order of schema_names(), each once.
/// Throws UsageError.
std::vector<std::string> chosen_operators(std::string_view names, const std::vector<OperatorSet>& sets);

/// Several lines: the sets, then every operator with its attributes and the family that it belongs to.
std::string describe_operators(const std::vector<OperatorSet>& sets);

}  // namespace taso::cli
