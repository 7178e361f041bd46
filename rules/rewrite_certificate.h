// How one model became another, step by step, so that somebody else can check it: what `<output>.cert` holds.
//
// Values are called by numbers. Those of the graph that the steps start from are numbered as Graph::nodes() lists them, each
// result of each node; every value that a step makes gets the next number. A number is given once and for all.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace taso {

using ValueNumber = std::uint64_t;

/// One rewrite: the source of a rule was found at `inputs`, and the values that it gave are now those of the target.
struct RewriteStep {
  std::string rule;
  std::vector<std::pair<std::string, ValueNumber>> inputs;     ///< of the rule, and the values that they stand for
  std::vector<std::pair<std::string, std::string>> variables;  ///< attribute variables, and what they stand for
  /// The operators of the source whose operands stand the other way round, counted operands first, result by result.
  std::vector<std::uint64_t> exchanged;
  std::vector<ValueNumber> replaced;  ///< the values that get other computations
  /// A node of the target, operands first, and its results: values that it makes, values that it replaces, or values that
  /// are computed in this very way already.
  struct Made {
    std::string op;
    std::vector<ValueNumber> results;
    bool operator==(const Made&) const = default;
  };
  std::vector<Made> made;
  /// Values that have turned out to be others, as they are computed in the same way now.
  std::vector<std::pair<ValueNumber, ValueNumber>> merged;
  std::vector<std::string> conditions;           ///< what had to hold, in the rule's terms and in the model's
  std::int64_t cost_before = 0, cost_after = 0;  ///< of the graph

  bool operator==(const RewriteStep&) const = default;
};

}  // namespace taso
