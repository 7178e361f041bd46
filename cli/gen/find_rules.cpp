#include "cli/gen/find_rules.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "cli/console/interrupt.h"
#include "cli/console/memory.h"
#include "cli/console/streams.h"
#include "cli/console/table.h"
#include "cli/console/version.h"
#include "cli/files/property_file.h"
#include "cli/files/rule_input.h"
#include "cli/gen/candidate_prover.h"
#include "cli/gen/checkpoint.h"
#include "cli/gen/findings.h"
#include "cli/gen/operator_sets.h"
#include "cli/gen/phase_times.h"
#include "cli/gen/progress.h"
#include "cli/gen/stage_files.h"
#include "ops/cluster/bytes.h"
#include "ops/core/error.h"
#include "ops/support/atomic_file.h"
#include "ops/support/threads.h"
#include "verifier/version.h"

namespace taso::cli {
namespace {

using Clock = std::chrono::steady_clock;
using Level = Console::Level;

/// Finds out before the work whether all outputs can be written. Leaves nothing behind.
void check_writable(const GenSettings& settings) {
  const AtomicFile trial(settings.output);
  for (const auto& file : {settings.report, settings.rejected})
    if (file) cli::check_writable(*file);
}

double processor_seconds() {
  struct rusage usage {};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// Everything that a decision depends on besides the candidate, for the checkpoint.
std::string context_of(const Findings& findings) {
  const GenSettings& settings = findings.settings;
  return nlohmann::ordered_json{{"program", program_version()},
                                {"generator", generator::generator_revision},
                                {"verifier", verifier::verifier_revision},
                                {"Z3", verifier::z3_version()},
                                {"operators", findings.operators},
                                {"max-ops", settings.max_operators},
                                {"seed", settings.seed},
                                {"selects", settings.selects},
                                {"properties", findings.properties_hash},
                                {"effort", settings.proving.effort},
                                {"time-limit", settings.proving.time_limit}}
      .dump();
}

void check_memory(const GenSettings& settings) {
  const std::uint64_t used = memory_in_use();
  if (used > settings.memory_limit)
    throw EnvironmentError(fmt::format("the memory limit of {} is too small: {} are in use; --memory-limit raises it",
                                       bytes_text(settings.memory_limit), bytes_text(used)));
}

/// Everything except the results.
Findings prepare(const GenSettings& settings, std::vector<rules::Rule>& properties) {
  Findings findings;
  findings.settings = settings;
  const std::filesystem::path sets_place = operator_sets_path(settings.operator_sets);
  const std::vector<OperatorSet> sets = read_operator_sets(sets_place);
  const auto is_default = [&](const OperatorSet& set) { return set.name == settings.operators; };
  if (!settings.names_operators && std::none_of(sets.begin(), sets.end(), is_default))
    throw UsageError(fmt::format("{} has no set '{}', which is the default; name others with --operators",
                                 sets_place.string(), settings.operators));
  findings.operators = chosen_operators(settings.operators, sets);
  findings.combinations = combinations_of(findings.operators, settings.max_operators);
  if (findings.combinations.unusable.size() == findings.operators.size())
    throw UsageError(fmt::format(
        "--operators: with {} alone there is no program of at most {} operator{}: {} other operators, which "
        "--list-operators shows",
        fmt::join(findings.operators, ", "), settings.max_operators, settings.max_operators == 1 ? "" : "s",
        findings.operators.size() == 1 ? "it needs" : "they need"));
  const std::filesystem::path place = properties_path(settings.properties);
  properties = read_properties(place).rules.rules();
  findings.properties_name = place.string();
  findings.properties = properties.size();
  findings.properties_hash = hash_of_properties(properties);
  return findings;
}

void say_what_is_apart(const Combinations& combinations, Console& console) {
  constexpr std::size_t most_pairs = 6;
  if (!combinations.unusable.empty())
    console.warning(fmt::format("these operators are never used: no other chosen operator produces their operands: {}",
                                fmt::join(combinations.unusable, ", ")));
  if (combinations.apart.empty()) return;
  std::vector<std::string> pairs;
  for (const auto& [one, other] : combinations.apart) pairs.push_back(one + " with " + other);
  const std::string all = fmt::format("never combined: {}", fmt::join(pairs, ", "));
  if (pairs.size() <= most_pairs) {
    console.say(Level::result, all);
  } else {
    console.say(Level::result, fmt::format("never combined: {} pairs of operators, which no family contains "
                                           "(-v and --report list them, --list-operators the families)",
                                           with_commas(pairs.size())));
    console.say(Level::detail, all);
  }
}

/// What the first rank keeps of the run until its end.
struct Kept {
  Checkpoint checkpoint;
  StageFiles stages;

  Kept(const GenSettings& settings, const std::string& context)
      : checkpoint(settings.checkpoint, context, settings.resume),
        stages(stages_of(settings.checkpoint), context, settings.resume) {}
  /// What of it a run can continue from, for people; empty if there is nothing.
  std::string place() const {
    if (checkpoint.is_useful()) return "the decisions so far are in " + on_one_line(checkpoint.file().string());
    if (stages.is_useful()) return "the programs so far are in " + on_one_line(stages.folder().string());
    return {};
  }
};

void keep(Kept& kept, Findings& findings, generator::GenerateOptions& options) {
  options.begin = [&](const std::string& candidates) {
    findings.enumerated = true;
    kept.checkpoint.begin(candidates);
    findings.recalled = kept.checkpoint.known();
  };
  options.recall = [&](const std::string& candidate) { return kept.checkpoint.recall(candidate); };
  options.remember = [&](const std::string& candidate, const generator::Decision& decision) {
    kept.checkpoint.remember(candidate, decision);
  };
  options.stages.load = [&](const std::string& stage) {
    auto state = kept.stages.load(stage);
    if (state) findings.recalled_stages.push_back(stage);
    return state;
  };
  options.stages.save = [&](const std::string& stage, const std::string& state) { kept.stages.save(stage, state); };
  options.stages.forget = [&](const std::string& stage) { kept.stages.forget(stage); };
}

/// What the ranks took, and what any of them has to say.
void gather_uses(Findings& findings, Communicator& ranks) {
  std::string message;
  put(message, RankUse{findings.processor_seconds, findings.peak_memory, ranks.sent()});
  put(message, static_cast<std::uint64_t>(findings.asked));
  put(message, static_cast<std::uint64_t>(findings.timed_out));
  put(message, static_cast<std::uint8_t>(findings.interrupted));
  put_text(message, findings.disagreement);
  findings.asked = findings.timed_out = 0;
  findings.processor_seconds = 0;
  for (const std::string& one : ranks.gather(std::move(message))) {
    ByteReader reader(one);
    findings.ranks.push_back(reader.get<RankUse>());
    findings.processor_seconds += findings.ranks.back().processor_seconds;
    findings.asked += reader.get<std::uint64_t>();
    findings.timed_out += reader.get<std::uint64_t>();
    if (reader.get<std::uint8_t>() != 0) findings.interrupted = true;
    const std::string disagreement = reader.get_text();
    if (findings.disagreement.empty()) findings.disagreement = disagreement;
  }
}

void run(Findings& findings, const std::vector<rules::Rule>& rules, Kept* kept, Communicator& ranks, Console& console) {
  const GenSettings& settings = findings.settings;
  const rules::Properties properties(rules);
  std::stop_source stop;
  CandidateProver prover(properties, settings.proving, stop);
  GenProgress progress(console, settings.max_operators);
  PhaseTimes times;
  generator::GenerateOptions options;
  options.ranks = &ranks;
  options.schemas = findings.operators;
  options.max_operators = settings.max_operators;
  options.seed = settings.seed;
  findings.jobs = settings.jobs != 0 ? settings.jobs : thread_count(0);
  options.jobs = findings.jobs;
  options.memory_limit = settings.memory_limit;
  options.stop = stop.get_token();
  options.selects = settings.selects;
  if (const auto stated = stated_path(settings)) options.stated = read_rules(*stated).rules.rules();
  options.prove = [&](const rules::Rule& candidate) { return prover.prove(candidate); };
  options.watch = [&](const generator::GenerateProgress& now) {
    times.update(now.phase);
    progress.update(now);
  };
  if (kept) keep(*kept, findings, options);
  run_watched(
      stop, [&] { findings.report = generator::generate(options); },
      [&] {
        check_memory(settings);
        progress.show();
        if (interrupted()) stop.request_stop();
      });
  findings.disagreement = prover.disagreement();
  findings.timed_out = prover.timed_out();
  findings.asked = prover.asked();
  findings.interrupted = interrupted() && !findings.report.complete;
  findings.phases = times.seconds();
}

/// An interrupted run writes what it has, if anything, but replaces no existing file; after a disagreement of the
/// provers nothing counts.
void conclude(Findings& findings, Kept& kept, Console& console) {
  const GenSettings& settings = findings.settings;
  const bool is_worth_it = findings.report.complete || !findings.report.rules.empty();
  if (findings.disagreement.empty() && is_worth_it) {
    const auto place = findings.report.complete ? settings.output : place_of_part(settings.output);
    write_file(place, rule_file_of(findings));
    findings.written = place;
  }
  if (settings.rejected && findings.disagreement.empty())
    write_output(findings.report.complete ? *settings.rejected : place_of_part(*settings.rejected),
                 rejected_file_of(findings));
  if (settings.report) write_output(*settings.report, report_of(findings));
  if (findings.report.complete && findings.disagreement.empty()) {
    kept.checkpoint.remove();
    kept.stages.remove();
  }

  console.say(Level::result, table_of(findings));
  if (findings.timed_out > 0)
    console.warning(
        fmt::format("{} proofs reached the time limit: another machine may find other rules", findings.timed_out));
  if (!findings.disagreement.empty())
    console.say(Level::error, on_lines("two provers disagree, which is a bug in taso\n" + findings.disagreement));
  for (const std::string& stage : kept.stages.damaged())
    console.warning(fmt::format("in {}, {} was damaged, and was done again", on_one_line(kept.stages.folder().string()),
                                on_one_line(stage)));
  if (const std::string place = kept.place(); findings.interrupted && !place.empty())
    console.say(Level::result, place + "; --resume continues from there");
  console.verdict(findings.passed(), findings.word());
}

void say_what_is_resumed(const Kept& kept, bool resume, Console& console) {
  const Checkpoint& checkpoint = kept.checkpoint;
  const std::string file = on_one_line(checkpoint.file().string());
  if (checkpoint.replaced())
    console.say(Level::result, fmt::format("the checkpoint {} of an earlier run is replaced", file));
  if (checkpoint.is_damaged())
    console.warning(fmt::format("the checkpoint {} is damaged: {} decision{} could be read, the rest is decided again",
                                file, with_commas(checkpoint.known()), checkpoint.known() == 1 ? "" : "s"));
  else if (resume && checkpoint.known() == 0 && !kept.stages.is_useful())
    console.say(Level::result, "there is nothing to resume: the run starts from the beginning");
}

}  // namespace

ExitCode find_rules(const GenSettings& settings, Console& console, Communicator& ranks) {
  if (ranks.is_first()) check_writable(settings);
  const auto start = Clock::now();
  std::vector<rules::Rule> properties;
  Findings findings = prepare(settings, properties);
  console.begin_log();
  console.say(Level::detail,
              fmt::format("{} kinds of operators, at most {} of them; {} properties in {}", findings.operators.size(),
                          settings.max_operators, findings.properties, on_one_line(findings.properties_name)));
  say_what_is_apart(findings.combinations, console);
  const std::string context = context_of(findings);
  check_agreement(ranks, context);
  std::optional<Kept> kept;
  if (ranks.is_first()) {
    kept.emplace(settings, context);
    say_what_is_resumed(*kept, settings.resume, console);
  }
  try {
    check_memory(settings);
    run(findings, properties, kept ? &*kept : nullptr, ranks, console);
    console.draw({});
    findings.seconds = std::chrono::duration<double>(Clock::now() - start).count();
    findings.processor_seconds = processor_seconds();
    findings.peak_memory = peak_memory();
    gather_uses(findings, ranks);
    if (kept) conclude(findings, *kept, console);
  } catch (const EnvironmentError& error) {
    if (!kept || kept->place().empty()) throw;
    throw EnvironmentError(
        fmt::format("{}; once that is fixed, --resume continues from the decisions so far", error.what()));
  }
  if (!findings.disagreement.empty()) return ExitCode::bug;
  return findings.interrupted ? ExitCode::interrupted : ExitCode::done;
}

}  // namespace taso::cli
