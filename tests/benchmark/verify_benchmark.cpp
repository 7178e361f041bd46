// Times the verifier on rule files:
//   benchmark_verify FILE… [--properties FILE] [--threads N] [--runs N] [--limit N] [--growth]
// Prints the elapsed time for all rules, the verdicts and the slowest rules; with --growth also how the time depends on
// the number of properties, for subsets that contain all properties used by proofs.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "cli/files/rule_input.h"
#include "ops/core/error.h"
#include "ops/core/random.h"
#include "ops/support/threads.h"
#include "verifier/verify.h"

namespace {

using namespace taso;
using Clock = std::chrono::steady_clock;

struct Settings {
  std::vector<std::string> files;
  std::string properties = "rules/properties.rules";
  unsigned threads = 2;
  std::size_t runs = 3, limit = 0;
  bool growth = false;
};

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// Processor time of all threads, which other work on the machine does not affect.
double processor_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

struct Times {
  double elapsed = 0, processor = 0;
  std::vector<double> each;
  std::vector<verifier::RuleVerdict> verdicts;
  double worst() const { return each.empty() ? 0 : *std::max_element(each.begin(), each.end()); }
};

Times time_once(const std::vector<cli::GivenRule>& rules, const std::vector<rules::Rule>& axioms, unsigned threads) {
  Times times;
  times.each.resize(rules.size());
  times.verdicts.resize(rules.size());
  const auto start = Clock::now();
  const double processor = processor_seconds();
  const rules::Properties properties(axioms);
  parallel_for(threads, rules.size(), [&](std::size_t i) {
    const auto begin = Clock::now();
    times.verdicts[i] = verifier::verify(rules[i].rule, properties, {});
    times.each[i] = seconds_since(begin);
  });
  times.elapsed = seconds_since(start);
  times.processor = processor_seconds() - processor;
  return times;
}

/// The least time of several runs, in total and for each rule: other work on the machine only adds time.
Times time_rules(const std::vector<cli::GivenRule>& rules, const std::vector<rules::Rule>& axioms,
                 const Settings& settings) {
  Times best = time_once(rules, axioms, settings.threads);
  for (std::size_t run = 1; run < settings.runs; ++run) {
    const Times next = time_once(rules, axioms, settings.threads);
    best.elapsed = std::min(best.elapsed, next.elapsed);
    best.processor = std::min(best.processor, next.processor);
    for (std::size_t i = 0; i < rules.size(); ++i) best.each[i] = std::min(best.each[i], next.each[i]);
  }
  return best;
}

void print_times(const std::vector<cli::GivenRule>& rules, const Times& times, const Settings& settings) {
  std::map<std::string_view, std::size_t> verdicts;
  for (const verifier::RuleVerdict& verdict : times.verdicts) ++verdicts[verifier::text_of(verdict.kind)];
  fmt::print("{} rules on {} threads: {:.3f} s, {:.3f} s of processor time, worst rule {:.3f} s\n", rules.size(),
             settings.threads, times.elapsed, times.processor, times.worst());
  for (const auto& [verdict, count] : verdicts) fmt::print("  {} {}\n", count, verdict);
  std::vector<std::size_t> order(rules.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return times.each[a] > times.each[b]; });
  order.resize(std::min<std::size_t>(order.size(), 5));
  for (const std::size_t i : order)
    fmt::print("  {:.3f} s {} ({}, {} instances)\n", times.each[i], rules[i].rule.name,
               verifier::text_of(times.verdicts[i].kind), times.verdicts[i].instances);
}

/// Always keeps the properties used by proofs, so that the verdicts stay the same; adds the others in a random order.
void print_growth(const std::vector<cli::GivenRule>& rules, const std::vector<rules::Rule>& axioms, const Times& all,
                  const Settings& settings) {
  std::set<std::string> used;
  std::vector<cli::GivenRule> proved;
  for (std::size_t i = 0; i < rules.size(); ++i) {
    if (all.verdicts[i].kind != verifier::RuleVerdict::Kind::proved) continue;
    proved.push_back(rules[i]);
    used.insert(all.verdicts[i].properties.begin(), all.verdicts[i].properties.end());
  }
  std::vector<std::size_t> others;
  for (std::size_t i = 0; i < axioms.size(); ++i)
    if (used.count(axioms[i].name) == 0) others.push_back(i);
  Random random(1);
  for (std::size_t i = others.size(); i > 1; --i) std::swap(others[i - 1], others[random.below(i)]);
  fmt::print("{} proved rules by the number of properties, of which {} are used:\n", proved.size(),
             axioms.size() - others.size());
  constexpr std::size_t steps = 4;
  for (std::size_t step = 0; step <= steps; ++step) {
    std::set<std::size_t> kept(others.begin(),
                               others.begin() + static_cast<std::ptrdiff_t>(others.size() * step / steps));
    std::vector<rules::Rule> subset;
    for (std::size_t i = 0; i < axioms.size(); ++i)
      if (used.count(axioms[i].name) > 0 || kept.count(i) > 0) subset.push_back(axioms[i]);
    const Times times = time_rules(proved, subset, settings);
    fmt::print("  {:>4} properties: {:.3f} s, {:.3f} s of processor time, worst rule {:.3f} s\n", subset.size(),
               times.elapsed, times.processor, times.worst());
  }
}

Settings parse(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i < argc; ++i) {
    const std::string_view flag = argv[i];
    const auto value = [&]() -> std::string {
      if (++i == argc) throw InputError(fmt::format("{} needs a value", flag));
      return argv[i];
    };
    if (flag == "--properties") {
      settings.properties = value();
    } else if (flag == "--threads") {
      settings.threads = static_cast<unsigned>(std::stoul(value()));
    } else if (flag == "--runs") {
      settings.runs = std::max(std::stoul(value()), 1ul);
    } else if (flag == "--limit") {
      settings.limit = std::stoul(value());
    } else if (flag == "--growth") {
      settings.growth = true;
    } else {
      settings.files.emplace_back(flag);
    }
  }
  if (settings.files.empty()) throw InputError("no rule file is given");
  return settings;
}

void benchmark(const Settings& settings) {
  std::vector<cli::GivenFile> files;
  for (const std::string& file : settings.files) files.push_back(cli::read_rules(file));
  std::vector<cli::GivenRule> rules = cli::rules_of(files);
  std::erase_if(rules, [](const cli::GivenRule& given) { return given.rule.kind == rules::Rule::Kind::axiom; });
  if (settings.limit > 0 && rules.size() > settings.limit) rules.resize(settings.limit);
  const std::vector<rules::Rule> axioms = cli::read_properties(settings.properties).rules.rules();
  const Times times = time_rules(rules, axioms, settings);
  print_times(rules, times, settings);
  if (settings.growth) print_growth(rules, axioms, times, settings);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    benchmark(parse(argc, argv));
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}
