// Which conditions of a rewrite tell a reader something, and which only have to be counted.
#pragma once

#include <string>
#include <vector>

namespace taso::cli {

struct SortedConditions {
  std::vector<std::string> telling;  ///< each once, as given
  /// The others, each once: equal ones and zeros ("1 = 1"), bounds of known numbers ("4 >= 1"), and what says the same
  /// of the model as an earlier one.
  std::vector<std::string> plain;
};

/// Each condition is in the rule's terms and, after ": ", in the model's: "y.1 >= 1: 4 >= 1".
SortedConditions sort_conditions(const std::vector<std::string>& conditions);

}  // namespace taso::cli
