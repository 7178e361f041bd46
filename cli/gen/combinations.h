// Tells which of the chosen operators are combined: operators that no rule needs together are in different families,
// and some operators only take the results of others.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace taso::cli {

struct Combinations {
  /// Operators that occur in no program: no enumerated family has them, or nothing there produces their operands.
  std::vector<std::string> unusable;
  /// Pairs of the others that no family contains.
  std::vector<std::pair<std::string, std::string>> apart;
};

/// Both in the order of `operators`.
Combinations combinations_of(const std::vector<std::string>& operators, std::size_t max_operators);

}  // namespace taso::cli
