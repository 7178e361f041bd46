#include "cli/verify/verify_rules.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <set>

#include <fmt/format.h>

#include "cli/console/interrupt.h"
#include "cli/console/progress_line.h"
#include "cli/console/streams.h"
#include "cli/files/property_file.h"
#include "cli/files/proved_record.h"
#include "cli/files/rule_input.h"
#include "cli/files/rule_set.h"
#include "cli/verify/proof_cache.h"
#include "cli/verify/result_bytes.h"
#include "cli/verify/results.h"
#include "cli/verify/second_prover.h"
#include "ops/cluster/bytes.h"
#include "ops/core/error.h"
#include "ops/support/atomic_file.h"
#include "ops/support/data_files.h"
#include "ops/support/threads.h"
#include "rules/instance/float_class.h"
#include "rules/language/canonical.h"
#include "verifier/version.h"

namespace taso::cli {
namespace {

using std::filesystem::path;
using Clock = std::chrono::steady_clock;
using Level = Console::Level;
using Outcome = RuleResult::Outcome;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// Finds out before the work whether all outputs can be written. Leaves nothing behind but the folder.
void check_writable(const VerifySettings& settings) {
  for (const auto& file : {settings.report, settings.junit, settings.record})
    if (file) cli::check_writable(*file);
  if (!settings.certificates) return;
  std::error_code error;
  std::filesystem::create_directories(*settings.certificates, error);
  if (!error && !std::filesystem::is_directory(*settings.certificates, error))
    error = std::make_error_code(std::errc::not_a_directory);
  if (error)
    throw EnvironmentError(
        fmt::format("cannot make the folder {}: {}", settings.certificates->string(), error.message()));
  const AtomicFile trial(*settings.certificates / "trial.smt2");
}

/// Progress so far: worker threads count, the watching thread prints.
class Progress {
 public:
  Progress(Console& console, const VerifyResults& results) : shown_(console), results_(results) {}

  void begin(std::size_t task) { current_ = task; }
  void end(const RuleResult& result) {
    switch (result.outcome()) {
      case Outcome::undecided: return;
      case Outcome::proved:
      case Outcome::valid: ++proved_; break;
      case Outcome::conditional: ++conditional_; break;
      case Outcome::refuted: ++refuted_; break;
      case Outcome::unknown: ++unknown_; break;
      case Outcome::unstated: ++unstated_; break;
    }
  }
  void show() {
    if (!results_.rules.empty()) shown_.show([&] { return line(); });
  }

 private:
  std::string line() const {
    const std::size_t done = proved_ + conditional_ + refuted_ + unknown_ + unstated_;
    std::string text = fmt::format("{} of {}: {} {}", done, results_.rules.size(), proved_.load(),
                                   results_.validates_properties ? "valid" : "proved");
    const auto part = [&](std::size_t count, std::string_view words) {
      if (count > 0) text += fmt::format(", {} {}", count, words);
    };
    part(conditional_, "conditional");
    part(refuted_, "refuted");
    part(unknown_, "unknown");
    part(unstated_, "cannot be stated");
    return text + fmt::format("; {}; {:.0f} s", results_.rules[current_].rule.name, shown_.seconds());
  }

  ProgressLine shown_;
  const VerifyResults& results_;
  std::atomic<std::size_t> current_{0}, proved_{0}, conditional_{0}, refuted_{0}, unknown_{0}, unstated_{0};
};

/// Decides the rules of a run one by one. Thread-safe for different rules.
class Verifier {
 public:
  Verifier(const VerifySettings& settings, const std::vector<rules::Rule>& properties, VerifyResults& results,
           Console& console)
      : settings_(settings), properties_(properties), results_(results) {
    if (results.validates_properties) laws_ = results.files[0].rules.laws();
    for (const rules::Rule& rule : properties) names_.insert(rule.name);
    names_.insert("normal-form");  // the other prover, which needs no properties
    if (settings.second_prover) {
      second_prover_.emplace(*settings.second_prover);
      results.second_prover = second_prover_->version();
    }
    open_cache(console);
  }

  /// False if two provers disagree.
  bool decide(std::size_t index, const std::stop_token& stop) {
    const auto start = Clock::now();
    const rules::Rule& rule = results_.rules[index].rule;
    RuleResult result;
    try {
      if (!results_.rules[index].unstated.empty()) {
        result.unstated = true;
        result.verdict.reason = results_.rules[index].unstated;
      } else if (rule.kind == rules::Rule::Kind::axiom) {
        validate_axiom(index, result, stop);
      } else {
        prove_rule(index, result, stop);
      }
    } catch (const InputError& error) {
      refuse(results_.rules[index], error.what());
    }
    if (stop.stop_requested()) return true;  // an interrupted proof is not a verdict
    result.decided = true;
    result.seconds = seconds_since(start);
    results_.results[index] = std::move(result);
    return results_.results[index].disagreement().empty();
  }

  void save_cache(Console& console) {
    if (!cache_) return;
    try {
      cache_->save();
    } catch (const std::exception& error) {
      if (settings_.cache) throw;
      console.say(Level::detail, fmt::format("cannot keep the proofs: {}", error.what()));
    }
  }

 private:
  void open_cache(Console& console) {
    if (!settings_.use_cache || results_.validates_properties) return;
    const auto folder = settings_.cache ? settings_.cache : default_cache_folder();
    if (!folder) return;
    cache_.emplace(*folder, results_.properties_hash, settings_.proving);
    console.say(Level::detail, fmt::format("known proofs: {}", cache_->file().string()));
  }

  void validate_axiom(std::size_t index, RuleResult& result, const std::stop_token& stop) {
    verifier::ValidateOptions options;
    options.effort = settings_.proving.effort;
    options.seed = settings_.proving.seed;
    const std::size_t laws = results_.rules.size() - results_.memberships.size();
    if (index >= laws) {
      result.property = verifier::validate(results_.memberships[index - laws], options, stop);
      return;
    }
    result.property = verifier::validate(results_.rules[index].rule, options, stop);
    if (settings_.redundant && result.property->is_valid())
      result.property->follows_from_others = verifier::follows_from_others(index, laws_, settings_.proving, stop);
  }

  void prove_rule(std::size_t index, RuleResult& result, const std::stop_token& stop) {
    const rules::Rule& rule = results_.rules[index].rule;
    const std::string& hash = results_.hashes[index];
    for (const std::string& name : rule.by)
      if (names_.count(name) == 0) result.unknown_names.push_back(name);
    // The cache holds no certificates, so a run that needs them makes the proofs again.
    if (cache_ && !settings_.keeps_certificates())
      if (auto known = cache_->find(rule, hash)) {
        result.verdict = std::move(*known);
        result.from_cache = true;
        return;
      }
    result.verdict = verifier::verify(rule, properties_, settings_.proving, stop);
    if (cache_ && !stop.stop_requested()) cache_->add(rule, hash, result.verdict);
    if (second_prover_ && !result.verdict.certificates.empty())
      result.second = second_prover_->check(result.verdict.certificates, settings_.proving.time_limit, stop);
  }

  [[noreturn]] void refuse(const GivenRule& given, const std::string& reason) const {
    const GivenFile& file = results_.files[given.file];
    const std::string message = fmt::format("{} '{}': {}", rules::text_of(given.rule.kind), given.rule.name, reason);
    throw PlacedError(file.is_taso ? fmt::format("{}: {}", place_of(given, results_.files), message)
                                   : file.source.point_at(given.rule.place, message));
  }

  const VerifySettings& settings_;
  std::vector<rules::Rule> laws_;  // if they are validated
  const rules::Properties properties_;
  VerifyResults& results_;
  std::set<std::string, std::less<>> names_;
  std::optional<SecondProver> second_prover_;
  std::optional<ProofCache> cache_;
};

/// Writes the proofs as files. A number distinguishes rules of the same name in several files.
void write_certificates(const path& folder, const VerifyResults& results) {
  constexpr std::size_t longest_name = 120;  // a file name may have 255 bytes
  std::set<std::string> used;
  for (std::size_t i = 0; i < results.results.size(); ++i) {
    const std::string& name = results.rules[i].rule.name;
    std::string stem =
        name.size() <= longest_name ? name : name.substr(0, longest_name) + "-" + results.hashes[i].substr(0, 16);
    for (std::size_t again = 2; !used.insert(stem).second; ++again)
      stem = fmt::format("{}.{}", name.substr(0, longest_name), again);
    const auto& certificates = results.results[i].verdict.certificates;
    for (std::size_t n = 0; n < certificates.size(); ++n)
      write_file(folder / fmt::format("{}-{}.smt2", stem, n + 1), certificates[n]);
  }
}

ExitCode ending_of(const VerifyResults& results) {
  if (results.disagrees()) return ExitCode::bug;
  if (results.interrupted) return ExitCode::interrupted;
  return results.passed() ? ExitCode::done : ExitCode::unverified;
}

/// By what each rule of the file was proved, empty where the rule says so; nothing if all rules do.
std::vector<std::vector<std::string>> proofs_not_stated(const VerifyResults& results, std::size_t file) {
  std::vector<std::vector<std::string>> proofs;
  bool is_needed = false;
  for (std::size_t i = 0; i < results.rules.size(); ++i) {
    if (results.rules[i].file != file) continue;
    proofs.emplace_back();
    if (!results.rules[i].rule.by.empty()) continue;
    proofs.back() = results.results[i].verdict.properties;
    is_needed = true;
  }
  if (!is_needed) proofs.clear();
  return proofs;
}

/// The record for programs that use these files without proving them again.
ProvedRecord record_of(const VerifyResults& results) {
  ProvedRecord record{verifier::verifier_revision, results.properties_hash, {}};
  for (std::size_t i = 0; i < results.files.size(); ++i) {
    const GivenFile& file = results.files[i];
    const std::vector<rules::Rule> rules = file.rules.rules();
    record.files.push_back({path(file.source.name()).filename().string(),
                            rules.size(),
                            rules::hash_of_text(file.source.text()),
                            hash_of_rules(rules),
                            {}});
    for (const rules::Rule& rule : rules)
      record.files.back().float_classes += rules::digit_of(rules::float_class(rule));
    record.files.back().by = proofs_not_stated(results, i);
  }
  return record;
}

void conclude(const VerifySettings& settings, const VerifyResults& results, Console& console) {
  if (settings.certificates) write_certificates(*settings.certificates, results);
  if (settings.report) write_output(*settings.report, report_of(results));
  if (settings.junit) write_output(*settings.junit, junit_of(results));
  if (settings.record && ending_of(results) == ExitCode::done)
    write_output(*settings.record, text_of(record_of(results)));
  const bool everything = settings.console.verbosity > 0;
  console.say(Level::result,
              results.validates_properties ? property_table_of(results, everything) : table_of(results, everything));
  if (const std::string both = disagreements_of(results); !both.empty()) console.say(Level::error, both);
  console.say(Level::detail, fmt::format("{:.2f} s", results.seconds));
  console.verdict(results.passed(), results.word());
}

/// Everything but the results.
VerifyResults read_everything(const VerifySettings& settings, std::vector<rules::Rule>& properties) {
  VerifyResults results;
  const path place = properties_path(settings.properties);
  GivenFile file = read_properties(place);
  properties = file.rules.rules();
  results.properties_name = place.string();
  const std::vector<rules::Rule> laws = file.rules.laws();
  results.properties = laws.size();
  results.properties_hash = hash_of_properties(properties);
  results.seed = settings.proving.seed;
  results.validates_properties = settings.properties_only;
  results.asked_for_redundant = settings.redundant;
  if (settings.properties_only) {
    results.files.push_back(std::move(file));
    results.memberships = verifier::memberships(laws);
  } else {
    for (const path& given : settings.files) results.files.push_back(read_rules(given));
  }
  results.rules = settings.properties_only ? laws_of(results.files) : rules_of(results.files);
  for (const GivenRule& rule : results.rules)
    results.hashes.push_back(rule.unstated.empty() ? rules::content_hash(rule.rule) : std::string());
  // Memberships, on which laws for classes depend, come last, under their own names.
  for (const verifier::Membership& membership : results.memberships) {
    rules::Rule name_only;
    name_only.name = membership.name;
    name_only.kind = rules::Rule::Kind::axiom;
    results.rules.push_back({std::move(name_only), 0, 0});
    results.hashes.emplace_back();
  }
  results.results.resize(results.rules.size());
  return results;
}

/// Whether the user's property file has the same contents as the shipped one.
bool are_shipped(const VerifySettings& settings, const std::string& hash) {
  if (!settings.properties) return true;
  const auto found = find_data_file("rules/properties.rules");
  try {
    return found && hash_of_properties(read_properties(*found).rules.rules()) == hash;
  } catch (const InputError&) {
    return false;
  }
}

/// Everything that a verdict depends on, for ranks to compare.
std::string context_of(const VerifySettings& settings, const VerifyResults& results) {
  std::string text = fmt::format("{} {} {} {} {}", verifier::verifier_revision, verifier::z3_version(),
                                 results.properties_hash, settings.proving.effort, results.second_prover);
  for (const std::string& hash : results.hashes) text += " " + hash;
  return rules::hash_of_text(text);
}

/// Decides the rules of this rank, in order, up to a disagreement of provers.
void decide_share(const Communicator& ranks, unsigned jobs, std::size_t rules, const std::stop_token& stop,
                  const std::function<bool(std::size_t, const std::stop_token&)>& decide) {
  const std::size_t size = ranks.size(), rank = ranks.rank();
  const std::size_t share = rules / size + (rank < rules % size ? 1 : 0);
  parallel_until(jobs, static_cast<std::int64_t>(share), stop, [&](std::int64_t i, const std::stop_token& end) {
    return decide(static_cast<std::size_t>(i) * size + rank, end);
  });
}

/// Gives every rank the results of all.
void gather_results(Communicator& ranks, VerifyResults& results) {
  if (ranks.size() == 1) return;
  std::string message;
  put(message, static_cast<std::uint8_t>(results.interrupted));
  for (std::size_t i = ranks.rank(); i < results.results.size(); i += ranks.size())
    put_text(message, bytes_of(results.results[i], results.rules[i].rule));
  const std::vector<std::string> messages = ranks.gather(std::move(message));
  for (std::size_t from = 0; from < messages.size(); ++from) {
    ByteReader reader(messages[from]);
    if (reader.get<std::uint8_t>() != 0) results.interrupted = true;
    for (std::size_t i = from; i < results.results.size(); i += messages.size())
      results.results[i] = result_from(reader.get_text());
  }
}

/// Nothing counts after a disagreement.
void drop_after_disagreement(std::vector<RuleResult>& results) {
  const auto first = std::find_if(results.begin(), results.end(),
                                  [](const RuleResult& result) { return !result.disagreement().empty(); });
  if (first != results.end()) std::fill(first + 1, results.end(), RuleResult());
}

}  // namespace

ExitCode verify_rules(const VerifySettings& settings, Console& console, Communicator& ranks) {
  if (ranks.is_first()) check_writable(settings);
  const auto start = Clock::now();
  std::vector<rules::Rule> properties;
  VerifyResults results = read_everything(settings, properties);
  results.properties_are_shipped = are_shipped(settings, results.properties_hash);
  console.begin_log();
  console.say(Level::detail, fmt::format("{} rules in {} files, {} properties in {}", results.rules.size(),
                                         results.files.size(), results.properties, results.properties_name));
  Verifier verifier(settings, properties, results, console);
  check_agreement(ranks, context_of(settings, results));
  Progress progress(console, results);
  std::stop_source end;
  const auto decide = [&](std::size_t index, const std::stop_token& stop) {
    progress.begin(index);
    const bool agree = verifier.decide(index, stop);
    progress.end(results.results[index]);
    return agree;
  };
  run_watched(
      end, [&] { decide_share(ranks, thread_count(settings.jobs), results.rules.size(), end.get_token(), decide); },
      [&] {
        progress.show();
        if (interrupted()) end.request_stop();
      });
  results.interrupted = interrupted();
  gather_results(ranks, results);
  drop_after_disagreement(results.results);
  results.interrupted = results.interrupted && results.count(Outcome::undecided) > 0;
  results.seconds = seconds_since(start);
  console.draw({});
  verifier.save_cache(console);
  if (ranks.is_first()) conclude(settings, results, console);
  return ending_of(results);
}

std::string print_rules(const VerifySettings& settings) {
  std::vector<path> files = settings.files;
  if (settings.properties_only) files.push_back(properties_path(settings.properties));
  rules::RuleFile all;
  std::set<std::string> names;
  for (const path& place : files) {
    GivenFile file = read_rules(place);
    for (auto& item : file.rules.items) {
      if (const rules::Rule* rule = std::get_if<rules::Rule>(&item);
          rule != nullptr && !names.insert(rule->name).second)
        throw UsageError(fmt::format("'{}' is in more than one of the files; print each file separately", rule->name));
      all.items.push_back(std::move(item));
    }
  }
  return rules::print(all);
}

}  // namespace taso::cli
