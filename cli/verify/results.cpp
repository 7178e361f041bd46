#include "cli/verify/results.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/console/exit_code.h"
#include "cli/console/table.h"

namespace taso::cli {
namespace {

using Outcome = RuleResult::Outcome;

/// `-v` shows the rest.
constexpr std::size_t most_counterexamples = 20;
constexpr std::size_t widest_facts = 80;

std::string indented(std::string_view text) {
  std::string lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines += fmt::format("  {}\n", text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return on_lines(lines);
}

/// As many names as fit, then the number of the others.
std::string list_of(const std::vector<std::string>& names, bool everything) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string more = i == 0 ? names[i] : ", " + names[i];
    if (!everything && i > 0 && text.size() + more.size() > widest_facts)
      return text + fmt::format(" and {} more", names.size() - i);
    text += more;
  }
  return text;
}

std::string text_of(const std::vector<rules::Condition>& conditions) {
  std::vector<std::string> texts;
  texts.reserve(conditions.size());
  for (const rules::Condition& condition : conditions) texts.push_back(rules::text_of(condition));
  return fmt::format("{}", fmt::join(texts, ", "));
}

/// The grounds of the verdict, in a few words.
std::string facts_of(const RuleResult& result, bool everything) {
  if (!result.unknown_names.empty())
    return fmt::format("no such property: {}", list_of(result.unknown_names, everything));
  if (result.property) {
    if (result.outcome() == Outcome::valid)
      return fmt::format("checked at {} shapes; {}", result.property->small_sizes + result.property->random_shapes,
                         result.property->obstacle);
    return "";
  }
  const verifier::RuleVerdict& verdict = result.verdict;
  switch (verdict.kind) {
    case verifier::RuleVerdict::Kind::proved:
      return verdict.properties.empty() ? std::string(verdict.by_normal_form > 0 ? "normal-form" : "")
                                        : list_of(verdict.properties, everything);
    case verifier::RuleVerdict::Kind::conditional: return "where " + text_of(verdict.condition);
    case verifier::RuleVerdict::Kind::refuted:
    case verifier::RuleVerdict::Kind::unknown: return on_one_line(verdict.reason);
  }
  return "";
}

/// Counterexamples of rules that are false or need a condition.
std::string counterexamples_of(const VerifyResults& results, bool everything) {
  std::string text;
  std::size_t shown = 0, left = 0;
  for (std::size_t i = 0; i < results.results.size(); ++i) {
    const RuleResult& result = results.results[i];
    const Outcome outcome = result.outcome();
    if (!result.decided || result.counterexample().empty()) continue;
    if (!everything && shown == most_counterexamples) {
      ++left;
      continue;
    }
    ++shown;
    const GivenRule& given = results.rules[i];
    text += fmt::format("\n{}: {} is {}\n", place_of(given, results.files), given.rule.name,
                        outcome == Outcome::conditional ? "false as it stands" : "false");
    text += indented(result.counterexample());
    if (outcome == Outcome::conditional)
      text += fmt::format("  it is true where {}\n", text_of(result.verdict.condition));
  }
  if (left > 0) text += fmt::format("\n{} more counterexamples are shown with -v\n", left);
  return on_lines(text);
}

std::string second_prover_line(const VerifyResults& results) {
  if (results.second_prover.empty()) return "";
  std::size_t agreed = 0, open = 0, rules = 0;
  std::string trouble;
  for (const RuleResult& result : results.results) {
    if (!result.second) continue;
    agreed += result.second->agreed;
    open += result.second->open;
    if (result.second->open > 0) ++rules;
    if (trouble.empty()) trouble = result.second->trouble;
  }
  std::string line =
      fmt::format("second prover: {} confirms {} of {} questions", results.second_prover, agreed, agreed + open);
  if (open > 0)
    line += fmt::format("; it leaves {} of {} rules open ({})", open, rules, trouble.empty() ? "no answer" : trouble);
  return line + "\n";
}

std::string plural(std::size_t count, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

std::string closing_lines(const VerifyResults& results) {
  std::string text = totals_of(results) + "\n";
  if (!results.validates_properties && results.properties_are_shipped)
    text += fmt::format("properties: {} shipped with taso\n", results.properties);
  if (!results.validates_properties && !results.properties_are_shipped)
    text += fmt::format("properties: {} of {}, not the shipped ones; validate them with --properties-only\n",
                        results.properties, on_one_line(results.properties_name));
  text += second_prover_line(results);
  const auto known = std::count_if(results.results.begin(), results.results.end(),
                                   [](const RuleResult& result) { return result.from_cache; });
  if (known > 0) text += fmt::format("cache: {} of the proofs were already known\n", known);
  text.pop_back();
  return text;
}

}  // namespace

Outcome RuleResult::outcome() const {
  if (!decided) return Outcome::undecided;
  if (unstated) return Outcome::unstated;
  if (property) {
    if (!property->counterexample.empty()) return Outcome::refuted;
    if (property->holds_for_all_shapes()) return Outcome::proved;
    return property->is_valid() ? Outcome::valid : Outcome::unknown;
  }
  switch (verdict.kind) {
    case verifier::RuleVerdict::Kind::proved: return Outcome::proved;
    case verifier::RuleVerdict::Kind::conditional: return Outcome::conditional;
    case verifier::RuleVerdict::Kind::refuted: return Outcome::refuted;
    case verifier::RuleVerdict::Kind::unknown: return Outcome::unknown;
  }
  return Outcome::unknown;
}

bool RuleResult::passed() const {
  const Outcome found = outcome();
  return (found == Outcome::proved || found == Outcome::valid) && unknown_names.empty() && disagreement().empty();
}

std::string RuleResult::disagreement() const {
  if (!verdict.disagreement.empty()) return verdict.disagreement;
  return second ? second->disagreement : "";
}

std::string_view text_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::undecided: return "undecided";
    case Outcome::proved: return "proved";
    case Outcome::valid: return "valid";
    case Outcome::conditional: return "conditional";
    case Outcome::refuted: return "refuted";
    case Outcome::unknown: return "unknown";
    case Outcome::unstated: return "cannot be stated";
  }
  return "";
}

std::size_t VerifyResults::count(Outcome outcome) const {
  return static_cast<std::size_t>(std::count_if(results.begin(), results.end(),
                                                [&](const RuleResult& result) { return result.outcome() == outcome; }));
}

bool VerifyResults::passed() const {
  return std::all_of(results.begin(), results.end(), [](const RuleResult& result) { return result.passed(); });
}

bool VerifyResults::disagrees() const {
  return std::any_of(results.begin(), results.end(),
                     [](const RuleResult& result) { return !result.disagreement().empty(); });
}

std::string_view VerifyResults::word() const {
  if (interrupted && !disagrees()) return "INTERRUPTED";
  return passed() ? "PASSED" : "FAILED";
}

std::string totals_of(const VerifyResults& results) {
  std::vector<std::string> parts;
  const auto part = [&](Outcome outcome, std::string_view words) {
    if (const std::size_t count = results.count(outcome); count > 0)
      parts.push_back(fmt::format("{} {}", count, words));
  };
  part(Outcome::proved, results.validates_properties ? "proved for all shapes" : "proved");
  part(Outcome::valid, "valid wherever checked");
  part(Outcome::conditional, "true only under an unstated condition");
  part(Outcome::refuted, "refuted");
  part(Outcome::unknown, "unknown");
  part(Outcome::unstated, "cannot be stated");
  part(Outcome::undecided, "undecided");
  const auto nameless = std::count_if(results.results.begin(), results.results.end(),
                                      [](const RuleResult& result) { return !result.unknown_names.empty(); });
  if (nameless > 0) parts.push_back(fmt::format("{} by an unknown property", nameless));
  if (results.asked_for_redundant) {
    const auto redundant = std::count_if(results.results.begin(), results.results.end(), [](const RuleResult& result) {
      return result.property && result.property->follows_from_others;
    });
    parts.push_back(fmt::format("{} redundant", redundant));
  }
  std::string what = plural(results.results.size(), "rule", "rules");
  if (results.validates_properties) {
    const std::size_t members = results.memberships.size();
    what = plural(results.results.size() - members, "property", "properties");
    if (members > 0) what += fmt::format(" and {}", plural(members, "membership", "memberships"));
  }
  return parts.empty() ? what : fmt::format("{}: {}", what, fmt::join(parts, ", "));
}

std::string table_of(const VerifyResults& results, bool everything) {
  Table table;
  table.rows.push_back({"rule", "verdict", "by"});
  for (std::size_t i = 0; i < results.results.size(); ++i) {
    const RuleResult& result = results.results[i];
    const std::string_view verdict = !result.disagreement().empty() ? "disagreement" : text_of(result.outcome());
    table.rows.push_back({results.rules[i].rule.name, std::string(verdict), on_one_line(facts_of(result, everything))});
  }
  std::string text = results.results.empty() ? "" : table.text();
  const std::string counterexamples = counterexamples_of(results, everything);
  text += counterexamples;
  if (!text.empty()) text += "\n";
  return text + closing_lines(results);
}

std::string property_table_of(const VerifyResults& results, bool everything) {
  Table table;
  table.rows.push_back({"property", "instances", "small sizes", "random shapes", "all shapes"});
  table.numbers_from = 1;
  table.numbers_to = 4;
  if (results.asked_for_redundant) table.rows.front().push_back("redundant");
  std::string obstacles;
  for (std::size_t i = 0; i < results.results.size(); ++i) {
    const RuleResult& result = results.results[i];
    const std::string& name = results.rules[i].rule.name;
    if (!result.decided || !result.property) {
      table.rows.push_back({name, "", "", "", "undecided"});
      continue;
    }
    const verifier::PropertyVerdict& verdict = *result.property;
    const std::string proved = !verdict.counterexample.empty()  ? "FALSE"
                               : verdict.holds_for_all_shapes() ? "yes"
                               : verdict.proved == 0            ? "no"
                                                     : fmt::format("{} of {}", verdict.proved, verdict.instances);
    table.rows.push_back({name, std::to_string(verdict.instances), std::to_string(verdict.small_sizes),
                          std::to_string(verdict.random_shapes), proved});
    if (results.asked_for_redundant) table.rows.back().push_back(verdict.follows_from_others ? "yes" : "");
    if (verdict.counterexample.empty() && !verdict.holds_for_all_shapes())
      obstacles +=
          fmt::format("  {}: {}\n", name, on_one_line(verdict.obstacle.empty() ? "no reason given" : verdict.obstacle));
  }
  std::string text = results.results.empty() ? "" : table.text();
  if (!obstacles.empty()) text += "\nnot proved for all shapes:\n" + obstacles;
  text += counterexamples_of(results, everything);
  if (!text.empty()) text += "\n";
  return text + closing_lines(results);
}

std::string disagreements_of(const VerifyResults& results) {
  std::string text;
  for (std::size_t i = 0; i < results.results.size(); ++i) {
    const std::string both = results.results[i].disagreement();
    if (both.empty()) continue;
    text += fmt::format("{}: two provers disagree on {}\n{}{}", place_of(results.rules[i], results.files),
                        results.rules[i].rule.name, indented(both), indented(rules::print(results.rules[i].rule)));
  }
  return on_lines(text);
}

}  // namespace taso::cli
