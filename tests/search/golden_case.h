// Graphs in files, with the rules and options of their search and the expected results; see golden_test.cpp.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "ops/graph/graph.h"
#include "rules/language/rule.h"
#include "search/search.h"

namespace taso::test {

struct GoldenCase {
  std::string head;  ///< everything up to the result
  Graph graph;
  std::string expected;  ///< the result with its costs
  std::vector<rules::Rule> rules;
  search::SearchOptions options;
  std::optional<double> too_low_alpha;
  bool only_golden = false;
};

GoldenCase read_golden(const std::filesystem::path& file);
/// Those in a folder of tests/search, sorted.
std::vector<std::filesystem::path> golden_files(const std::string& folder);

}  // namespace taso::test
