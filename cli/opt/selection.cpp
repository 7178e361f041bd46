#include "cli/opt/selection.h"

#include <optional>
#include <span>

#include <fmt/format.h>

#include "cli/console/exit_code.h"
#include "ops/core/error.h"
#include "ops/support/data_files.h"

namespace taso::cli {
namespace {

std::optional<search::Experience> shipped_experience(Console& console) {
  const auto place = find_data_file("rules/search.experience");
  if (!place) return std::nullopt;
  try {
    return search::parse_experience(Source::read(place->string()));
  } catch (const InputError& error) {
    console.warning(fmt::format("cannot read the record of which rules paid off; the search uses all rules: {}",
                                on_one_line(error.what())));
    return std::nullopt;
  }
}

/// Names on indented lines of at most 100 columns.
std::string on_lines(std::span<const rules::Rule> listed) {
  std::string text;
  std::size_t column = 100;
  for (const rules::Rule& rule : listed) {
    const bool fits = column + 3 + rule.name.size() <= 100;  // with a comma behind it
    text += fits ? ", " : text.empty() ? "\n  " : ",\n  ";
    text += rule.name;
    column = (fits ? column : 0) + 2 + rule.name.size();
  }
  return text;
}

}  // namespace

RuleSelection select_rules(const Graph& graph, const std::vector<rules::Rule>& rules, std::size_t extra,
                           const OptSettings& options, Console& console) {
  RuleSelection selection{search::recognise(graph), {}};
  search::RuleChoice& choice = selection.choice;
  choice.rules = rules;
  if (options.all_rules)
    choice.reason = "--all-rules is given";
  else if (options.objective != cost::Objective::time)
    choice.reason = "it is only known which rules save time";
  else if (selection.architecture.kind == search::NetworkKind::unknown)
    choice.reason = "the kind of network is unknown";
  else if (const auto experience = shipped_experience(console)) {
    // The record does not cover the user's rules.
    const auto added = rules.end() - static_cast<std::ptrdiff_t>(extra);
    choice = search::choose_rules({rules.begin(), added}, selection.architecture.kind, *experience,
                                  options.rule_files.empty());
    choice.rules.insert(choice.rules.end(), added, rules.end());
    choice.kept += extra;
  } else {
    choice.reason = "there is no record of which rules paid off";
  }
  return selection;
}

std::string explain(const RuleSelection& selection) {
  const search::RuleChoice& choice = selection.choice;
  std::string text = fmt::format("the network is {}: {}\n", search::text_of(selection.architecture.kind),
                                 selection.architecture.reason);
  if (!choice.reason.empty())
    return text + fmt::format("the search uses all {} rules: {}", choice.rules.size(), choice.reason);
  return text + fmt::format(
                    "the search uses {} rules: {} paid off for this kind of network, {} for other kinds, {} are always "
                    "used; {} others are used where they save time at once (-v lists them)",
                    choice.rules.size(), choice.paid, choice.paid_elsewhere, choice.kept, choice.others.size());
}

std::string list_of(const RuleSelection& selection) {
  const search::RuleChoice& choice = selection.choice;
  if (!choice.reason.empty()) return "";
  std::string text;
  std::span<const rules::Rule> rest = choice.rules;
  const auto list = [&](std::string_view title, std::size_t count) {
    if (count > 0) text += fmt::format("{}{}:{}", text.empty() ? "" : "\n", title, on_lines(rest.first(count)));
    rest = rest.subspan(count);
  };
  list("paid off for this kind of network, best first", choice.paid);
  list("paid off for other kinds", choice.paid_elsewhere);
  list("always used", rest.size());
  return text;
}

}  // namespace taso::cli
