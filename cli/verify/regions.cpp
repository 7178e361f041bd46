#include "cli/verify/regions.h"

#include <algorithm>
#include <atomic>
#include <chrono>

#include <fmt/format.h>

#include "cli/console/interrupt.h"
#include "cli/console/progress_line.h"
#include "cli/console/streams.h"
#include "ops/core/error.h"
#include "ops/support/threads.h"
#include "verifier/proof/deadline.h"

namespace taso::cli {
namespace {

using Clock = std::chrono::steady_clock;
double time_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// More ranks and axes than these are not examined.
constexpr std::size_t most_instances = 64;

RegionResult regions_of(const GivenRule& given, const VerifySettings& settings, const std::stop_token& stop) {
  RegionResult result;
  if (!given.unstated.empty()) {
    result.skipped = given.unstated;
    return result;
  }
  const rules::InstanceList list = rules::all_instances(given.rule);
  if (!list.undecided.empty()) result.skipped = list.undecided.front();
  if (list.made.empty()) result.skipped = "there are no shapes at which both sides have a meaning";
  if (list.made.size() > most_instances)
    result.skipped = fmt::format("it has {} choices of ranks and axes; state some", list.made.size());
  if (!list.made.empty() && (list.made[0].source.size() != 1 || list.made[0].target.size() != 1))
    result.skipped = "it has more than one result";
  if (!result.skipped.empty()) return result;
  verifier::AgreementOptions options;
  options.seed = settings.proving.seed;
  const verifier::Deadline deadline(settings.proving.time_limit, stop);
  for (const rules::Instance& instance : list.made) {
    if (stop.stop_requested()) return result;
    verifier::Agreement agreement = verifier::agreement_of(instance, options, deadline.token());
    result.instances.push_back({instance, std::move(agreement)});
  }
  return result;
}

}  // namespace

bool RegionResults::disagree() const {
  return std::any_of(results.begin(), results.end(), [](const RegionResult& result) {
    return std::any_of(result.instances.begin(), result.instances.end(),
                       [](const auto& one) { return !one.agreement.disagreement.empty(); });
  });
}

std::string_view RegionResults::word() const {
  if (disagree()) return "FAILED";
  return interrupted ? "INTERRUPTED" : "PASSED";
}

ExitCode show_regions(const VerifySettings& settings, Console& console) {
  if (settings.report) check_writable(*settings.report);
  const auto start = Clock::now();
  RegionResults results;
  for (const auto& file : settings.files) results.files.push_back(read_rules(file));
  results.rules = rules_of(results.files);
  results.results.resize(results.rules.size());
  results.seed = settings.proving.seed;
  console.begin_log();
  ProgressLine shown(console);
  std::atomic<std::size_t> done{0};
  std::stop_source end;
  const auto find = [&](std::size_t index, const std::stop_token& stop) {
    const GivenRule& given = results.rules[index];
    const auto begin = Clock::now();
    try {
      RegionResult result = regions_of(given, settings, stop);
      if (stop.stop_requested()) return true;
      result.decided = true;
      result.seconds = time_since(begin);
      results.results[index] = std::move(result);
    } catch (const InputError& error) {
      const GivenFile& file = results.files[given.file];
      const std::string message =
          fmt::format("{} '{}': {}", rules::text_of(given.rule.kind), given.rule.name, error.what());
      throw PlacedError(file.is_taso ? fmt::format("{}: {}", place_of(given, results.files), message)
                                     : file.source.point_at(given.rule.place, message));
    }
    ++done;
    return true;
  };
  run_watched(
      end, [&] { parallel_until(thread_count(settings.jobs), results.rules.size(), end.get_token(), find); },
      [&] {
        shown.show([&] {
          return fmt::format("{} of {} rules; {:.0f} s", done.load(), results.rules.size(), shown.seconds());
        });
        if (interrupted()) end.request_stop();
      });
  console.draw({});
  results.interrupted = interrupted() && std::any_of(results.results.begin(), results.results.end(),
                                                     [](const RegionResult& result) { return !result.decided; });
  results.seconds = time_since(start);
  if (settings.report) write_output(*settings.report, report_of(results));
  console.say(Console::Level::result, text_of(results, settings.console.verbosity > 0));
  console.say(Console::Level::detail, fmt::format("{:.2f} s", results.seconds));
  console.verdict(results.word() == "PASSED", results.word());
  if (results.disagree()) return ExitCode::bug;
  return results.interrupted ? ExitCode::interrupted : ExitCode::done;
}

}  // namespace taso::cli
