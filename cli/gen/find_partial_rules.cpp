#include "cli/gen/find_partial_rules.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "cli/console/interrupt.h"
#include "cli/console/memory.h"
#include "cli/console/progress_line.h"
#include "cli/console/streams.h"
#include "cli/console/table.h"
#include "cli/console/version.h"
#include "cli/files/property_file.h"
#include "cli/files/rule_input.h"
#include "cli/gen/candidate_prover.h"
#include "cli/gen/findings.h"
#include "generator/partial/partial.h"
#include "ops/core/error.h"
#include "ops/support/atomic_file.h"
#include "ops/support/threads.h"
#include "ops/text/spelling.h"
#include "rules/language/rule_text.h"

namespace taso::cli {
namespace {

using Clock = std::chrono::steady_clock;
using Level = Console::Level;
using generator::PartialReport;

struct PartialFindings {
  PartialReport report;
  std::string properties_hash, disagreement;
  std::size_t asked = 0, timed_out = 0;
  double seconds = 0;
  bool interrupted = false;

  bool passed() const { return report.complete && disagreement.empty(); }
  const char* word() const { return passed() ? "PASSED" : interrupted ? "INTERRUPTED" : "FAILED"; }
};

/// What was searched, so that it can be searched again.
rules::CommentBlock header_of(const PartialFindings& findings, const GenSettings& settings) {
  std::string text = fmt::format(
      "Programs that replace an operator and are right on at least {} of its output; where one is wrong, the operator "
      "itself is applied. Found by taso-gen --partial, proved with the properties {}.",
      settings.least_share, findings.properties_hash);
  if (!settings.kinds.empty()) text += fmt::format(" Kinds: {}.", fmt::join(settings.kinds, ", "));
  return {wrapped_comment(text)};
}

std::string rule_file_of(const PartialFindings& findings, const GenSettings& settings) {
  rules::RuleFile file;
  file.items.emplace_back(header_of(findings, settings));
  for (const generator::PartialRule& one : findings.report.rules) {
    rules::Rule rule = one.rule;
    rule.comments.clear();
    for (const std::string& comment : one.rule.comments)
      for (std::string& line : wrapped_comment(comment)) rule.comments.push_back(std::move(line));
    file.items.emplace_back(std::move(rule));
  }
  return rules::print(file);
}

std::string rejected_file_of(const PartialFindings& findings) {
  rules::RuleFile file;
  const auto add = [&](const std::vector<generator::Rejected>& list, const char* verdict) {
    for (const generator::Rejected& rejected : list) {
      rules::Rule rule = rejected.rule;
      rule.comments = wrapped_comment(fmt::format("{}: {}", verdict, on_one_line(rejected.reason)));
      file.items.emplace_back(std::move(rule));
    }
  };
  add(findings.report.refuted, "Refuted");
  add(findings.report.unknown, "Unknown");
  return rules::print(file);
}

std::string table_of(const PartialFindings& findings) {
  const PartialReport& report = findings.report;
  Table table;
  table.rows.push_back({"operator", "operands", "tried", "right numbers", "in place", "distinct"});
  table.numbers_from = 1;
  table.numbers_to = 6;
  std::size_t programs = 0;
  for (const PartialReport::OfSource& one : report.sources) {
    const generator::MutantCounts& counts = one.counts;
    programs += counts.distinct;
    table.rows.push_back({one.name, with_commas(counts.operands), with_commas(counts.tried),
                          with_commas(counts.promising), with_commas(counts.agreeing), with_commas(counts.distinct)});
  }
  const std::size_t corrected = static_cast<std::size_t>(
      std::count_if(report.rules.begin(), report.rules.end(), [](const auto& one) { return one.is_corrected; }));
  Table steps;
  steps.rows = {{"step", "left"},
                {"programs", with_commas(programs)},
                {"stated for all shapes, with one to three axes", with_commas(report.everywhere + report.partly)},
                {"of these, with a correction", with_commas(report.partly)},
                {"proved", with_commas(report.rules.size())},
                {"of these, with a correction", with_commas(corrected)}};
  steps.numbers_from = 1;
  steps.numbers_to = 2;
  return fmt::format("{}\n{}\nrules: {}; {} refuted, {} open\n{:.1f} s, {} of memory at most", table.text(),
                     steps.text(), with_commas(report.rules.size()), with_commas(report.refuted.size()),
                     with_commas(report.unknown.size()), findings.seconds, bytes_text(peak_memory()));
}

std::string report_of(const PartialFindings& findings, const GenSettings& settings) {
  const PartialReport& report = findings.report;
  nlohmann::ordered_json json{{"schema_version", 1},
                              {"program", {{"name", "taso-gen"}, {"version", program_version()}}},
                              {"verdict", findings.word()},
                              {"complete", report.complete},
                              {"least_share", settings.least_share},
                              {"properties", findings.properties_hash},
                              {"stated", report.everywhere + report.partly},
                              {"corrected", report.partly},
                              {"asked", findings.asked},
                              {"timed_out", findings.timed_out},
                              {"seconds", findings.seconds}};
  json["operators"] = nlohmann::ordered_json::array();
  for (const PartialReport::OfSource& one : report.sources)
    json["operators"].push_back({{"name", one.name},
                                 {"operands", one.counts.operands},
                                 {"tried", one.counts.tried},
                                 {"right_numbers", one.counts.promising},
                                 {"in_place", one.counts.agreeing},
                                 {"by_chance", one.counts.by_chance},
                                 {"distinct", one.counts.distinct}});
  json["kinds"] = report.kinds;
  json["rules"] = nlohmann::ordered_json::array();
  for (const generator::PartialRule& one : report.rules)
    json["rules"].push_back({{"name", one.rule.name}, {"kind", one.kind}, {"share", one.share}});
  const auto rejected = [](const std::vector<generator::Rejected>& list) {
    nlohmann::ordered_json all = nlohmann::ordered_json::array();
    for (const generator::Rejected& one : list) all.push_back({{"name", one.rule.name}, {"reason", one.reason}});
    return all;
  };
  json["refuted"] = rejected(report.refuted);
  json["open"] = rejected(report.unknown);
  return json.dump(2) + "\n";
}

/// Every kind that was asked for exists.
void check_kinds(const PartialReport& report, const GenSettings& settings) {
  const std::set<std::string> known(report.kinds.begin(), report.kinds.end());
  for (const std::string& kind : settings.kinds)
    if (!known.contains(kind)) {
      const std::string meant = did_you_mean(kind, report.kinds);
      throw UsageError(fmt::format("--kinds: unknown kind '{}'{}", on_one_line(kind),
                                   meant.empty() ? fmt::format("; known: {}", fmt::join(known, ", ")) : meant));
    }
}

void run(PartialFindings& findings, const GenSettings& settings, Console& console) {
  const std::filesystem::path place = properties_path(settings.properties);
  const std::vector<rules::Rule> rules = read_properties(place).rules.rules();
  findings.properties_hash = hash_of_properties(rules);
  const rules::Properties properties(rules);
  std::stop_source stop;
  CandidateProver prover(properties, settings.proving, stop);
  ProgressLine shown(console);
  std::mutex mutex;
  std::string progress;
  generator::PartialOptions options;
  options.least_share = settings.least_share;
  options.kinds = settings.kinds;
  options.jobs = settings.jobs != 0 ? settings.jobs : thread_count(0);
  options.stop = stop.get_token();
  options.prove = [&](const rules::Rule& candidate) { return prover.prove(candidate); };
  options.agree = [&](const rules::Rule& candidate) { return prover.agree(candidate); };
  options.watch = [&](const std::string& phase, std::size_t done, std::size_t total) {
    const std::lock_guard lock(mutex);
    progress = fmt::format("{}: {} of {}", phase, done, total);
  };
  run_watched(
      stop, [&] { findings.report = generator::generate_partial(options); },
      [&] {
        shown.show([&] {
          const std::lock_guard lock(mutex);
          return fmt::format("{}; {:.0f} s", progress, shown.seconds());
        });
        if (interrupted()) stop.request_stop();
      });
  console.draw({});
  findings.disagreement = prover.disagreement();
  findings.asked = prover.asked();
  findings.timed_out = prover.timed_out();
  findings.interrupted = interrupted() && !findings.report.complete;
}

}  // namespace

ExitCode find_partial_rules(const GenSettings& settings, Console& console) {
  { const AtomicFile trial(settings.output); }
  for (const auto& file : {settings.report, settings.rejected})
    if (file) check_writable(*file);
  const auto start = Clock::now();
  console.begin_log();
  PartialFindings findings;
  run(findings, settings, console);
  findings.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  const bool passed = findings.passed();
  if (passed) {
    check_kinds(findings.report, settings);
    write_file(settings.output, rule_file_of(findings, settings));
    if (settings.rejected) write_output(*settings.rejected, rejected_file_of(findings));
  }
  if (settings.report) write_output(*settings.report, report_of(findings, settings));
  console.say(Level::result, table_of(findings));
  if (findings.timed_out > 0)
    console.warning(
        fmt::format("{} proofs reached the time limit: another machine may find other rules", findings.timed_out));
  if (passed) console.say(Level::result, fmt::format("written: {}", on_one_line(settings.output.string())));
  if (!findings.disagreement.empty())
    console.say(Level::error, on_lines("two provers disagree, which is a bug in taso\n" + findings.disagreement));
  console.verdict(passed, findings.word());
  if (!findings.disagreement.empty()) return ExitCode::bug;
  return findings.interrupted ? ExitCode::interrupted : ExitCode::done;
}

}  // namespace taso::cli
