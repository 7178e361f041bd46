#include "search/learn.h"

#include <algorithm>
#include <map>

namespace taso {

Lesson learn(const Graph& graph, const std::vector<Rule>& rules, const KernelPrices& prices,
             const SearchOptions& options) {
  const SearchResult full = search(graph, rules, prices, options);
  Lesson lesson{{}, full.cost_before, full.cost_after, full.cost_after};

  // What each rule's own steps saved: the least first, as those are the most likely to be there by chance.
  std::map<std::string, Cost> own;
  for (const RewriteStep& step : full.steps) own[step.rule] += step.cost_before - step.cost_after;
  std::vector<Rule> needed;
  for (const Rule& rule : rules)
    if (own.contains(rule.name)) needed.push_back(rule);
  std::stable_sort(needed.begin(), needed.end(),
                   [&](const Rule& a, const Rule& b) { return own.at(a.name) < own.at(b.name); });
  if (full.cost_after == full.cost_before) return lesson;

  const auto without = [&](std::size_t index) {
    std::vector<Rule> others = needed;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(index));
    return others;
  };
  SearchResult best = search(graph, needed, prices, options);
  for (std::size_t i = 0; i < needed.size();) {
    std::vector<Rule> others = without(i);
    SearchResult found = search(graph, others, prices, options);
    if (found.cost_after <= best.cost_after + prices.noise()) {
      needed = std::move(others);
      best = std::move(found);
    } else {
      ++i;
    }
  }
  lesson.cost_with_these = best.cost_after;
  for (std::size_t i = 0; i < needed.size(); ++i) {
    RuleExperience rule{needed[i].name, 0, 1, 0};
    for (const RewriteStep& step : best.steps) rule.steps += step.rule == rule.rule;
    const Cost lost = search(graph, without(i), prices, options).cost_after - best.cost_after;
    rule.saved = static_cast<std::uint64_t>((std::max<Cost>(lost, 0) + 500) / 1000);
    lesson.rules.push_back(std::move(rule));
  }
  return lesson;
}

}  // namespace taso
