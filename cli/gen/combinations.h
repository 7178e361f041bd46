// Which of the chosen operators meet: families keep apart what no rule needs side by side, and some operators take only
// what others make.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace taso::cli {

struct Combinations {
  /// Operators that no program has: they belong to no family that is enumerated, or nothing there makes what they take.
  std::vector<std::string> unusable;
  /// Of the others, those that no family has side by side.
  std::vector<std::pair<std::string, std::string>> apart;
};

/// Both in the order of `operators`.
Combinations combinations_of(const std::vector<std::string>& operators, std::size_t max_operators);

}  // namespace taso::cli
