#include "search/selection/learn.h"

#include <algorithm>
#include <map>
#include <string>

namespace taso::search {

Lesson learn(const Graph& graph, const std::vector<rules::Rule>& rules, const cost::KernelPrices& prices,
             const SearchOptions& options) {
  const SearchResult full = search(graph, rules, prices, options);
  Lesson lesson{{}, full.cost_before, full.cost_after, full.cost_after};

  // The savings of each rule's own steps. The smallest come first, because such rules are most likely used by chance.
  std::map<std::string, cost::Cost> own;
  for (const rules::RewriteStep& step : full.steps) own[step.rule] += step.cost_before - step.cost_after;
  std::vector<rules::Rule> needed;
  for (const rules::Rule& rule : rules)
    if (own.contains(rule.name)) needed.push_back(rule);
  std::stable_sort(needed.begin(), needed.end(),
                   [&](const rules::Rule& a, const rules::Rule& b) { return own.at(a.name) < own.at(b.name); });
  if (full.cost_after == full.cost_before) return lesson;

  const auto without = [&](std::size_t index) {
    std::vector<rules::Rule> others = needed;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(index));
    return others;
  };
  // The same rules are searched twice: when one is tried, and when its saving is computed.
  std::map<std::vector<std::string>, SearchResult> known;
  const auto found_with = [&](const std::vector<rules::Rule>& some) -> const SearchResult& {
    std::vector<std::string> names;
    for (const rules::Rule& rule : some) names.push_back(rule.name);
    const auto [place, is_new] = known.try_emplace(std::move(names));
    if (is_new) place->second = search(graph, some, prices, options);
    return place->second;
  };
  cost::Cost lowest = found_with(needed).cost_after;
  for (std::size_t i = 0; i < needed.size();) {
    std::vector<rules::Rule> others = without(i);
    const cost::Cost cost = found_with(others).cost_after;
    if (cost <= lowest + prices.noise()) {
      needed = std::move(others);
      lowest = std::min(lowest, cost);
    } else {
      ++i;
    }
  }
  const SearchResult& best = found_with(needed);
  lesson.cost_with_these = best.cost_after;
  for (std::size_t i = 0; i < needed.size(); ++i) {
    RuleExperience rule{needed[i].name, 0, 1, 0};
    for (const rules::RewriteStep& step : best.steps) rule.steps += step.rule == rule.rule;
    const cost::Cost lost = found_with(without(i)).cost_after - best.cost_after;
    rule.saved = static_cast<std::uint64_t>((std::max<cost::Cost>(lost, 0) + 500) / 1000);
    lesson.rules.push_back(std::move(rule));
  }
  return lesson;
}

}  // namespace taso::search
