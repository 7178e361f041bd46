#include "cli/gen/findings.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/console/exit_code.h"
#include "cli/console/table.h"
#include "rules/language/canonical.h"
#include "rules/language/rule_size.h"
#include "rules/language/rule_text.h"

namespace taso::cli {
namespace {

constexpr std::size_t widest_comment = 118;

std::string count_of_graphs(double graphs) {
  return graphs < 1e15 ? with_commas(static_cast<std::uint64_t>(graphs)) : fmt::format("{:.1e}", graphs);
}

/// What was searched, without times and places.
rules::CommentBlock header_of(const Findings& findings, std::string_view before = {}) {
  std::vector<std::string_view> families;
  for (const generator::FamilyReport& family : findings.report.families)
    if (!family.is_in_order) families.push_back(family.name);
  std::string text =
      fmt::format("{}What at most {} of these operators compute alike, proved from the properties {} (seed {}): {}.",
                  before, findings.settings.max_operators, findings.properties_hash, findings.settings.seed,
                  fmt::join(findings.operators, " "));
  if (!families.empty())
    text += fmt::format(" They were combined within {}: {}.",
                        families.size() == 1 ? "one family" : "families, each by itself", fmt::join(families, ", "));
  if (findings.settings.selects)
    text += " Of what is proved, here is what searches can use, and what does not follow from the rest.";
  rules::CommentBlock header{wrapped_comment(text)};
  if (!findings.report.complete) header.lines.push_back("Not complete: the run that wrote it was interrupted.");
  return header;
}

rules::Rule candidate_of(const generator::Rejected& rejected) {
  rules::Rule rule = rules::canonical(rejected.rule);
  rule.name = rules::generated_name(rejected.rule);
  rule.kind = rules::Rule::Kind::candidate;
  return rule;
}

void add_rejected(rules::RuleFile& file, const std::vector<generator::Rejected>& list, std::string_view verdict) {
  std::vector<rules::Rule> rules;
  for (const generator::Rejected& rejected : list) {
    rules::Rule rule = candidate_of(rejected);
    for (const std::string& line : wrapped_comment(fmt::format(
             "{}: {}", verdict, on_one_line(rejected.reason.empty() ? "no reason given" : rejected.reason))))
      rule.comments.push_back(line);
    rules.push_back(std::move(rule));
  }
  std::sort(rules.begin(), rules.end(), [](const rules::Rule& a, const rules::Rule& b) { return a.name < b.name; });
  rules.erase(std::unique(rules.begin(), rules.end(),
                          [](const rules::Rule& a, const rules::Rule& b) { return a.name == b.name; }),
              rules.end());
  for (rules::Rule& rule : rules) file.items.emplace_back(std::move(rule));
}

std::string families_table(const Findings& findings) {
  Table table;
  table.rows.push_back({"family", "graphs", "evaluated", "classes", "equalities", "memory"});
  table.numbers_from = 1;
  table.numbers_to = 6;
  const auto row = [&](const std::string& name, double graphs, std::uint64_t evaluations, std::uint64_t values,
                       std::uint64_t equalities, std::size_t memory) {
    table.rows.push_back({name, count_of_graphs(graphs), with_commas(evaluations), with_commas(values),
                          with_commas(equalities), bytes_text(memory)});
  };
  std::size_t most_memory = 0;
  for (const generator::FamilyReport& family : findings.report.families) {
    row(family.name, family.graphs, family.evaluations, family.values, family.equalities, family.memory);
    most_memory = std::max(most_memory, family.memory);
  }
  if (findings.report.families.size() > 1)
    row("all", findings.graphs(), findings.evaluations(), findings.values(), findings.report.equalities, most_memory);
  return table.text();
}

std::string steps_table(const Findings& findings) {
  const generator::GenerateReport& report = findings.report;
  Table table;
  // If not everything is enumerated, the difference includes undecided candidates.
  table.rows.push_back({"step", "left", findings.enumerated ? "dropped" : "dropped or undecided"});
  table.numbers_from = 1;
  table.numbers_to = 3;
  std::size_t before = report.equalities;
  const auto step = [&](const std::string& name, std::size_t left) {
    table.rows.push_back({name, with_commas(left), before > left ? with_commas(before - left) : "0"});
    before = left;
  };
  step("equalities", report.equalities);
  table.rows.back().back() = "";
  step("up to renaming of inputs", report.renamed);
  step("confirmed at other shapes and contents", report.confirmed);
  step("not implied by smaller ones", report.not_following);
  step("without a common subgraph", report.without_common_subgraph);
  step("distinct as rules", report.distinct);
  const std::size_t candidates = findings.settings.selects ? report.general : report.distinct;
  if (findings.settings.selects) step("not coincidences", candidates);
  if (!report.complete) {
    step("decided before the end", candidates - findings.undecided());
    table.rows.back().back() = with_commas(findings.undecided()) + " undecided";
  }
  step("not derivable from smaller rules", report.not_derived - findings.undecided());
  step("proved", report.proved + report.special);
  step("not special cases of others", report.proved);
  if (!report.worth) return table.text();
  const generator::Worth& worth = *report.worth;
  step("rules, in both directions where both make sense", worth.proved);
  table.rows.back().back() = "";
  step("that a search can match", worth.matching);
  step("no arithmetic without savings", worth.no_arithmetic);
  step("not written by hand", worth.not_stated);
  step("not implied by the others", worth.not_following);
  step("in useful directions", worth.leading_on);
  return table.text();
}

std::string ranks_text(const std::vector<RankUse>& ranks) {
  std::uint64_t sent = 0, memory = 0;
  for (const RankUse& rank : ranks) {
    sent = std::max(sent, rank.sent);
    memory = std::max(memory, rank.peak_memory);
  }
  return fmt::format("{} ranks, each with at most {} of memory and {} sent\n", ranks.size(), bytes_text(memory),
                     bytes_text(sent));
}

}  // namespace

std::vector<std::string> wrapped_comment(std::string_view text) {
  std::vector<std::string> lines;
  std::string line;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    if (!line.empty() && line.size() + 1 + word.size() > widest_comment) lines.push_back(std::exchange(line, {}));
    line += (line.empty() ? "" : " ") + std::string(word);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  if (!line.empty()) lines.push_back(std::move(line));
  return lines;
}

std::string_view Findings::word() const {
  if (!disagreement.empty()) return "FAILED";
  if (interrupted) return "INTERRUPTED";
  return passed() ? "PASSED" : "FAILED";
}

std::size_t Findings::undecided() const {
  const std::size_t decided = report.proved + report.special + report.refuted.size() + report.unknown.size();
  return report.not_derived - std::min(decided, report.not_derived);
}

double Findings::graphs() const {
  double sum = 0;
  for (const generator::FamilyReport& family : report.families) sum += family.graphs;
  return sum;
}
std::uint64_t Findings::evaluations() const {
  std::uint64_t sum = 0;
  for (const generator::FamilyReport& family : report.families) sum += family.evaluations;
  return sum;
}
std::uint64_t Findings::values() const {
  std::uint64_t sum = 0;
  for (const generator::FamilyReport& family : report.families) sum += family.values;
  return sum;
}

std::uint64_t Findings::spilled() const {
  std::uint64_t sum = 0;
  for (const generator::FamilyReport& family : report.families) sum += family.spilled;
  return sum;
}

double chance_of_a_coincidence(const Findings& findings) {
  const double prime = 0x1p61 - 1, elements = 4096;  // no enumerated tensor has more
  // An operator at most doubles the degree; two different polynomials agree at random contents with this probability.
  const double by_contents = std::exp2(static_cast<double>(findings.settings.max_operators)) / prime;
  const double by_keys = elements / prime * (elements / prime);
  double chance = 0;
  for (const generator::FamilyReport& family : findings.report.families) {
    if (family.is_in_order) continue;  // small integers agree more often, but only add to what the field shows
    const double values = static_cast<double>(family.values);
    chance += values * values / 2 * (by_contents + by_keys);
  }
  return std::min(chance, 1.0);
}

std::string bound_text(double bound) {
  double power = std::floor(std::log10(bound));
  double digit = std::ceil(bound / std::pow(10, power));
  if (digit >= 10) {
    digit = 1;
    power += 1;
  }
  return fmt::format("{:.0f}e{:+03.0f}", digit, power);
}

std::string table_of(const Findings& findings) {
  const generator::GenerateReport& report = findings.report;
  std::string text = families_table(findings);
  const auto is_in_order = [](const generator::FamilyReport& family) { return family.is_in_order; };
  if (findings.settings.max_operators > generator::most_operators_in_order &&
      std::any_of(report.families.begin(), report.families.end(), is_in_order))
    text += fmt::format("in order: with at most {} operators\n", generator::most_operators_in_order);
  text += "\n" + steps_table(findings);
  text += fmt::format(
      "\nrules: {}, in {}; {} {} refuted, {} open\n", with_commas(report.rules.size()),
      report.worth ? "useful directions" : "both directions where both make sense", with_commas(report.refuted.size()),
      report.refuted.size() == 1 ? "candidate is" : "candidates are", with_commas(report.unknown.size()));
  if (const double chance = chance_of_a_coincidence(findings); chance > 0)
    text += fmt::format("fingerprints: the probability of a collision is below {}\n", bound_text(chance));
  if (findings.spilled() > 0)
    text +=
        fmt::format("memory was short: {} records were written to temporary files\n", with_commas(findings.spilled()));
  if (findings.recalled > 0)
    text += fmt::format("checkpoint: {} decisions of an earlier run\n", with_commas(findings.recalled));
  if (!findings.recalled_stages.empty())
    text += fmt::format("stages of an earlier run: {}\n", fmt::join(findings.recalled_stages, ", "));
  if (findings.written) {
    text += fmt::format("written: {}", on_one_line(findings.written->string()));
    if (!report.complete) text += ", which is incomplete";
    if (*findings.written != findings.settings.output)
      text += fmt::format("; {} is unchanged", on_one_line(findings.settings.output.string()));
    text += "\n";
  }
  if (findings.ranks.size() > 1) text += ranks_text(findings.ranks);
  text += fmt::format("{:.1f} s, {:.1f} s of processor time, {} of memory at most", findings.seconds,
                      findings.processor_seconds, bytes_text(findings.peak_memory));
  return text;
}

std::filesystem::path place_of_part(const std::filesystem::path& complete) {
  if (complete == "-") return complete;
  std::error_code unknown;
  return std::filesystem::exists(complete, unknown) ? part_of(complete) : complete;
}

std::string rule_file_of(const Findings& findings) {
  rules::RuleFile file;
  file.items.emplace_back(header_of(findings));
  // The smallest first: they say most.
  std::map<std::size_t, std::vector<const rules::Rule*>> by_size;
  for (const rules::Rule& rule : findings.report.rules) by_size[rules::size_of(rule)].push_back(&rule);
  for (const auto& [size, rules] : by_size) {
    file.items.emplace_back(
        rules::CommentBlock{{fmt::format("--- {} operator{} on the larger side ---", size, size == 1 ? "" : "s")}});
    for (const rules::Rule* rule : rules) file.items.emplace_back(*rule);
  }
  return rules::print(file);
}

std::string rejected_file_of(const Findings& findings) {
  rules::RuleFile file;
  file.items.emplace_back(header_of(findings, "Candidates that did not become rules. "));
  add_rejected(file, findings.report.refuted, "Refuted");
  add_rejected(file, findings.report.unknown, "Unknown");
  return rules::print(file);
}

}  // namespace taso::cli
