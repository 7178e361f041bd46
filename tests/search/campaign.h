// Random testing of rewriting: every rule is applied where its source is planted, random walks apply any matching rule,
// and the search runs as usual. All graphs along the way must compute the same. Failures are reduced before they are
// reported.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cost/pricing/roofline.h"
#include "search/rewriting/rewrite_rule.h"
#include "search/search.h"
#include "tests/search/agreement.h"
#include "tests/search/rule_graph.h"

namespace taso::test {

struct CampaignOptions {
  search::SearchOptions search;
  GraphMakeUp makeup;
  std::size_t walk = 8;                        ///< steps of a random walk
  std::size_t attempts = 12;                   ///< to plant a rule
  const cost::KernelPrices* prices = nullptr;  ///< the roofline, if null
};

/// Graphs of everything, and a threshold that lets the search wander.
inline CampaignOptions wandering(std::size_t budget) {
  CampaignOptions options;
  options.search.alpha = 1.2;
  options.search.budget = budget;
  options.makeup = {5, 0.25, 0.1, 0.2, 0.3, 3};
  return options;
}

struct Tally {
  std::size_t graphs = 0, rewrites = 0, searches = 0, changed = 0, steps = 0;
  std::size_t no_number = 0;     ///< comparisons without a result in float64: not a number, or too large
  std::size_t unlike_field = 0;  ///< comparisons that differ over the field, but not in float64
  std::set<std::string> planted, matched, applied, in_results;  ///< rules
};

class Campaign {
 public:
  Campaign(std::vector<rules::Rule> rules, CampaignOptions options);

  // Each is deterministic for a seed. Returns an empty text, or the error with the smallest failing graph and the rules
  // involved.
  /// Plants the rule and applies it at every match.
  std::string force(std::size_t rule, std::uint64_t seed);
  /// Applies rules at random, and undoes them all.
  std::string walk(std::uint64_t seed);
  std::string search(std::uint64_t seed);

  const Tally& tally() const { return tally_; }
  std::size_t rules() const { return graphs_.rules().size(); }
  std::string summary() const;
  /// Rules that can be matched and were never applied.
  std::vector<std::string> missing() const;

 private:
  std::string walk(const Graph& graph, std::uint64_t seed);
  std::string search(const Graph& graph, std::uint64_t seed);
  bool is_wrong(const Graph& before, const Graph& after, std::uint64_t seed, std::string* difference = nullptr);
  bool goes_wrong(const Graph& graph, const search::RewriteRule& rule, std::uint64_t seed);
  bool goes_wrong(const Graph& graph, const std::vector<rules::Rule>& rules, std::uint64_t seed);
  std::string told(const Graph& graph, const search::RewriteRule& rule, std::uint64_t seed, const std::string& what);

  CampaignOptions options_;
  RuleGraphs graphs_;
  cost::Roofline roofline_;
  std::vector<std::unique_ptr<search::RewriteRule>> compiled_;
  std::map<std::string, std::vector<std::size_t>> by_name_;       // indices in compiled_
  std::vector<std::vector<const search::RewriteRule*>> by_kind_;  // by the operator of the first result
  Tally tally_;
};

}  // namespace taso::test
