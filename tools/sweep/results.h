// What rules make of an operator: the graphs after one or two applications.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cost/plan/kernel.h"
#include "rules/language/rule.h"
#include "search/rewriting/rewrite_rule.h"
#include "tools/sweep/operators.h"

namespace taso::sweep {

/// The rules of one file, compiled for matching.
struct RuleGroup {
  explicit RuleGroup(const std::vector<rules::Rule>& rules) : compiled(search::compile(rules)) {}
  std::vector<std::unique_ptr<search::RewriteRule>> compiled;
};

struct SweepResult {
  std::size_t group = 0;
  std::vector<const search::RewriteRule*> rules;  ///< in the order in which they were applied
  Graph graph;
  /// "dilation-to-batch + halves"
  std::string rule_names() const;
};

struct ResultLimits {
  std::size_t most = 40;    ///< graphs
  std::size_t longest = 2;  ///< applications of rules of one file
};

/// Applies the rules at each place, once each; then the rules of the same file to these results, cheapest first. All
/// graphs are different.
std::vector<SweepResult> results_of(const Graph& source, const std::vector<RuleGroup>& groups,
                                    const ResultLimits& limits, const std::function<cost::Cost(const Graph&)>& price);

/// Compares results with their sources at small sizes, exactly over a prime field and in float64.
class Checker {
 public:
  enum class Verdict { equal, different, not_applicable };
  /// Applies the rules of the result to the small form of the operator, at each place, and compares. Not applicable if
  /// they do not match there.
  Verdict check(const SweepOperator& one, const SweepResult& result);

 private:
  std::map<std::string, Verdict> known_;  // by operator and rules: many operators have the same small form
};

}  // namespace taso::sweep
