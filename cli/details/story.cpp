#include "cli/details/story.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/console/exit_code.h"
#include "cli/console/table.h"
#include "cli/details/conditions.h"

namespace taso::cli {
namespace {

constexpr std::size_t most_changes = 12;
constexpr std::size_t most_conditions = 6;

/// "3 MatMul, 1 Add"
std::string counted(const ModelDetails& model, const std::vector<NodeFate>& fates,
                    const std::vector<std::size_t>& nodes) {
  std::map<std::string, std::size_t> counts;
  for (const std::size_t node : nodes)
    if (fates[node] != NodeFate::rewired) ++counts[model.nodes[node].op];
  std::vector<std::string> parts;
  for (const auto& [op, count] : counts) parts.push_back(fmt::format("{} {}", with_commas(count), on_one_line(op)));
  if (parts.empty()) return nodes.empty() ? "nothing" : "the same operators with other operands";
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string place_of(const Details& details, const ChangedRegion& region) {
  if (!region.before.empty()) return details.before.nodes[region.before.front()].outputs.front();
  return region.after.empty() ? "" : details.after.nodes[region.after.front()].outputs.front();
}

/// What had to hold: "x.1 = y.0: 768 = 768; and 3 evident conditions".
std::string reasons_of(const rules::RewriteStep& step) {
  const SortedConditions sorted = sort_conditions(step.conditions);
  std::vector<std::string> parts;
  for (const std::string& condition : sorted.telling) {
    if (parts.size() == most_conditions) {
      parts.push_back(fmt::format("{} more", sorted.telling.size() - most_conditions));
      break;
    }
    parts.push_back(on_one_line(condition));
  }
  if (const std::size_t count = sorted.plain.size(); count > 0)
    parts.push_back(fmt::format("{}{} evident condition{}", parts.empty() ? "" : "and ", with_commas(count),
                                count == 1 ? "" : "s"));
  return fmt::format("{}", fmt::join(parts, "; "));
}

/// The rules of a region: each once, with the first place where it applied.
std::string rules_of(const Details& details, const ChangedRegion& region, bool is_one_of_many) {
  std::vector<std::pair<std::string, std::size_t>> counts;
  std::map<std::string, const rules::RewriteStep*> first;
  for (const std::size_t step : region.steps) {
    const rules::RewriteStep& one = details.applied.steps[step];
    const auto known = std::find_if(counts.begin(), counts.end(), [&](const auto& c) { return c.first == one.rule; });
    if (known == counts.end())
      counts.emplace_back(one.rule, 1);
    else
      ++known->second;
    first.emplace(one.rule, &one);
  }
  std::string text;
  for (const auto& counted_rule : counts) {
    const std::string& name = counted_rule.first;  // a lambda cannot capture a structured binding with clang 14
    const std::size_t count = counted_rule.second;
    text +=
        fmt::format("    {}{}\n", name,
                    count > 1 ? fmt::format(", {} times{}", with_commas(count), is_one_of_many ? " in each" : "") : "");
    const auto rule = std::find_if(details.rules.begin(), details.rules.end(),
                                   [&](const RuleDetails& one) { return one.name == name; });
    if (rule != details.rules.end() && !rule->comments.empty())
      text += fmt::format("      {}\n", fmt::join(rule->comments, " "));
    if (rule != details.rules.end()) text += fmt::format("      {}  ⇒  {}\n", rule->source, rule->target);
    if (const std::string reasons = reasons_of(*first[name]); !reasons.empty())
      text += fmt::format("      because {}\n", reasons);
    if (rule != details.rules.end() && !rule->by.empty())
      text += fmt::format("      proved by {}\n", fmt::join(rule->by, ", "));
  }
  return text;
}

}  // namespace

std::string story_of(const Details& details) {
  std::map<std::size_t, std::size_t> alike;  // how many regions there are of each kind
  std::map<std::size_t, double> saved;       // by all of them
  for (const ChangedRegion& region : details.regions) {
    ++alike[region.like];
    saved[region.like] += region.saved;
  }
  std::string text = details.regions.empty()
                         ? "changes: none"
                         : fmt::format("changes: {} place{} in {} way{}, from the model as read to the result",
                                       with_commas(details.regions.size()), details.regions.size() == 1 ? "" : "s",
                                       with_commas(alike.size()), alike.size() == 1 ? "" : "s");
  std::size_t told = 0;
  for (std::size_t i = 0; i < details.regions.size(); ++i) {
    const ChangedRegion& region = details.regions[i];
    if (region.like != i) continue;
    if (told++ == most_changes) {
      text += fmt::format("\n  and {} other kinds of changes (--html shows all)", alike.size() - most_changes);
      break;
    }
    text +=
        fmt::format("\n  {}{} → {}, at {}\n", alike[i] > 1 ? fmt::format("{} × ", with_commas(alike[i])) : "",
                    counted(details.before, details.fates_before, region.before),
                    counted(details.after, details.fates_after, region.after), on_one_line(place_of(details, region)));
    if (!region.steps.empty())
      text +=
          fmt::format("    {} {}{}\n", saved[i] < 0 ? "costs" : "saves",
                      cost::text_of_cost(details.applied.objective, std::abs(saved[i])), alike[i] > 1 ? " in all" : "");
    if (!region.clean_ups.empty()) text += fmt::format("    clean-ups: {}\n", fmt::join(region.clean_ups, ", "));
    text += rules_of(details, region, alike[i] > 1);
    if (text.back() == '\n') text.pop_back();
  }
  return text;
}

}  // namespace taso::cli
