// partial_sweep --rules FILE...: for which operators do rules give a faster program, and how much faster?
//
// For each operator of a table (tools/sweep/operators.cpp) it applies the rules, once and twice, and prices the results
// beside the operator, as parts of a network: in NHWC, images come in and go out in NHWC.
//
//   --rules FILE...        rules of one file are combined; several files are tried one after the other
//   --device cuda|none     measure on the GPU, or predict by the roofline (none)
//   --precision tf32       tf32, fp32, fp16 or bf16
//   --libraries-only       with a GPU: convolutions and products by cuDNN and cuBLAS, without our own kernels
//   --prices FILE          keeps measured prices (partial_sweep.prices, or partial_sweep.libraries.prices)
//   --budget SECONDS       for measuring; the same command continues later
//   --slack FACTOR         measure results that are predicted to take up to this many times the fastest (1.25)
//   --most N, --steps N    at most so many results per operator (40), and applications of rules (2)
//   --only PATTERN         operators whose name contains this regular expression
//   --unchecked            do not compare results with sources at small sizes
//   --json FILE            everything, for scripts
//   --write DIR            source.onnx and the best results of each operator (--write-best N, 3), and index.json
//   --list                 print the operators
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>
#include <optional>
#include <regex>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "onnx/export/export.h"
#include "ops/support/atomic_file.h"
#include "rules/language/rule_text.h"
#include "tools/sweep/trials.h"

using namespace taso;
using namespace taso::sweep;

namespace {

namespace fs = std::filesystem;

struct Settings {
  std::vector<fs::path> rules;
  bool on_gpu = false, libraries_only = false, is_checked = true, only_lists = false;
  cost::Precision precision = cost::Precision::tf32;
  fs::path prices, json, write;
  std::size_t write_best = 3;
  std::optional<double> budget;
  double slack = 1.25;
  ResultLimits limits;
  std::string only;
};

/// Below this, a result counts as no faster.
constexpr double least_gain = 1.01;

Settings parse(int count, char** arguments) {
  Settings settings;
  for (int i = 1; i < count; ++i) {
    const std::string name = arguments[i];
    const auto value = [&]() -> std::string {
      if (i + 1 == count) throw InputError(name + " needs a value");
      return arguments[++i];
    };
    if (name == "--rules") {
      settings.rules.emplace_back(value());
      while (i + 1 < count && !std::string_view(arguments[i + 1]).starts_with("--"))
        settings.rules.emplace_back(value());
    } else if (name == "--device") {
      const std::string device = value();
      if (device != "cuda" && device != "none") throw InputError("--device is cuda or none");
      settings.on_gpu = device == "cuda";
    } else if (name == "--precision") {
      const auto precision = cost::precision_named(value());
      if (!precision) throw InputError("--precision is tf32, fp32, fp16 or bf16");
      settings.precision = *precision;
    } else if (name == "--libraries-only") {
      settings.libraries_only = true;
    } else if (name == "--prices") {
      settings.prices = value();
    } else if (name == "--budget") {
      settings.budget = std::stod(value());
    } else if (name == "--slack") {
      settings.slack = std::stod(value());
    } else if (name == "--most") {
      settings.limits.most = std::stoul(value());
    } else if (name == "--steps") {
      settings.limits.longest = std::stoul(value());
    } else if (name == "--only") {
      settings.only = value();
    } else if (name == "--unchecked") {
      settings.is_checked = false;
    } else if (name == "--json") {
      settings.json = value();
    } else if (name == "--write") {
      settings.write = value();
    } else if (name == "--write-best") {
      settings.write_best = std::stoul(value());
    } else if (name == "--list") {
      settings.only_lists = true;
    } else {
      throw InputError("unknown option " + name);
    }
  }
  if (settings.rules.empty() && !settings.only_lists) throw InputError("--rules names no file");
  if (settings.prices.empty())
    settings.prices = settings.libraries_only ? "partial_sweep.libraries.prices" : "partial_sweep.prices";
  return settings;
}

/// Says now and then how far measuring is, and what could not be measured.
class Progress : public pricing::Watcher {
 public:
  void note(std::string_view text) override { fmt::print(stderr, "{}\n", text); }
  void progress(std::size_t done, std::size_t all) override {
    const auto now = std::chrono::steady_clock::now();
    if (now - told_ < std::chrono::seconds(10)) return;
    told_ = now;
    fmt::print(stderr, "measured {} of {} kernels of this round\n", done, all);
  }

 private:
  std::chrono::steady_clock::time_point told_ = std::chrono::steady_clock::now();
};

std::unique_ptr<pricing::Pricing> open_pricing(const Settings& settings) {
  pricing::PricingOptions options;
  options.precision = settings.precision;
  options.on_gpu = settings.on_gpu;
  // Without a GPU all prices are predicted: beside a measured source, a predicted result says little. The shipped
  // prices contain our own kernels.
  options.with_shipped = settings.on_gpu && !settings.libraries_only;
  std::shared_ptr<gpu::Accelerator> gpu;
  if (settings.on_gpu) {
    options.file = settings.prices;
    std::string trouble;
    gpu = gpu::open_accelerator(trouble);
    if (!gpu) throw EnvironmentError(trouble);
    if (settings.libraries_only) gpu->use_libraries_only();
  }
  return std::make_unique<pricing::Pricing>(options, std::move(gpu), std::make_unique<Progress>());
}

std::vector<SweepOperator> chosen_operators(const Settings& settings) {
  std::vector<SweepOperator> all = sweep_operators();
  const std::regex pattern(settings.only);
  std::erase_if(all, [&](const SweepOperator& one) { return !std::regex_search(one.name(), pattern); });
  return all;
}

double in_microseconds(cost::Cost cost) { return static_cast<double>(cost) * 1e-6; }

using Part = KernelFigures::Part;

const char* name_of(Part part) {
  return part == Part::main ? "main" : part == Part::correction ? "correction" : "moving";
}

const char* name_of(cost::Layout layout) { return layout == cost::Layout::channels_last ? "NHWC" : "NCHW"; }

/// What a contest shows.
struct Outcome {
  const Contest* contest = nullptr;
  double source = 0, best = 0;  ///< microseconds; `best` is 0 if there is no result
  const SweepResult* result = nullptr;
  const Trial* trial = nullptr;
  double speedup() const { return best > 0 ? source / best : 0; }
  bool is_faster() const { return speedup() >= least_gain; }
};

Outcome outcome_of(const Contest& contest, bool only_measured) {
  Outcome outcome{&contest, in_microseconds(contest.best_source().figures.total)};
  outcome.trial = contest.best_result(only_measured);
  if (outcome.trial == nullptr) return outcome;
  outcome.best = in_microseconds(outcome.trial->figures.total);
  outcome.result = &contest.results[contest.result_of(*outcome.trial)];
  return outcome;
}

double median(std::vector<double> numbers) {
  std::sort(numbers.begin(), numbers.end());
  const std::size_t half = numbers.size() / 2;
  return numbers.size() % 2 == 1 ? numbers[half] : (numbers[half - 1] + numbers[half]) / 2;
}

/// For the operators for which these rules are fastest: the speed-up, and shares of the result's time.
struct Wins {
  std::vector<double> speedups, corrections, moving;
  double best() const { return *std::max_element(speedups.begin(), speedups.end()); }
};

std::map<std::string, Wins> wins_of(const std::vector<Outcome>& outcomes) {
  std::map<std::string, Wins> all;
  for (const Outcome& outcome : outcomes) {
    if (!outcome.is_faster()) continue;
    Wins& wins = all[outcome.result->rule_names()];
    wins.speedups.push_back(outcome.speedup());
    wins.corrections.push_back(outcome.trial->figures.share(Part::correction));
    wins.moving.push_back(outcome.trial->figures.share(Part::moving));
  }
  return all;
}

/// With `only_measured`, without operators that have no results, because these were not measured.
void print(const std::vector<Outcome>& outcomes, bool only_measured) {
  std::size_t width = 8;
  for (const Outcome& outcome : outcomes) width = std::max(width, outcome.contest->source.name().size());
  fmt::print("{:<{}}  results  source us         best us         speed-up  corrections  moving  rules\n", "operator",
             width);
  for (const Outcome& outcome : outcomes) {
    const Contest& contest = *outcome.contest;
    if (only_measured && contest.results.empty()) continue;
    fmt::print("{:<{}}  {:>7}  {:>9.2f} {}", contest.source.name(), width, contest.results.size(), outcome.source,
               name_of(contest.best_source().figures.layout));
    if (outcome.result != nullptr)
      fmt::print("  {:>9.2f} {}  {:>8.3f}  {:>9.1f} %  {:>4.0f} %  {}", outcome.best,
                 name_of(outcome.trial->figures.layout), outcome.speedup(),
                 100 * outcome.trial->figures.share(Part::correction), 100 * outcome.trial->figures.share(Part::moving),
                 outcome.result->rule_names());
    fmt::print("\n");
  }
}

void print_summary(const std::vector<Outcome>& outcomes) {
  std::size_t with_results = 0, results = 0, checked = 0;
  double sum = 0;
  std::vector<double> gains;
  for (const Outcome& outcome : outcomes) {
    with_results += outcome.contest->results.empty() ? 0 : 1;
    results += outcome.contest->results.size();
    checked += outcome.contest->checked;
    sum += std::log(std::max(1.0, outcome.speedup()));
    if (outcome.is_faster()) gains.push_back(outcome.speedup());
  }
  fmt::print("\n{} operators, {} with results; {} have a faster result", outcomes.size(), with_results, gains.size());
  if (!gains.empty())
    fmt::print(", median {:.3f}, best {:.3f}", median(gains), *std::max_element(gains.begin(), gains.end()));
  for (const double limit : {1.05, 1.2, 1.5, 2.0})
    fmt::print("; {} by {} or more",
               std::count_if(gains.begin(), gains.end(), [&](double gain) { return gain >= limit; }), limit);
  if (!outcomes.empty())
    fmt::print("\ngeometric mean over all operators: {:.4f}", std::exp(sum / static_cast<double>(outcomes.size())));
  fmt::print("\n{} results, {} of them compared and equal at small sizes\n\n", results, checked);
  std::vector<std::pair<std::string, Wins>> all;
  for (auto& one : wins_of(outcomes)) all.push_back(one);
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.second.speedups.size() > b.second.speedups.size(); });
  if (!all.empty()) fmt::print("fastest  median    best  corrections  moving  rules\n");
  for (const auto& [rules, wins] : all)
    fmt::print("{:>7}  {:>6.3f}  {:>6.3f}  {:>9.1f} %  {:>4.0f} %  {}\n", wins.speedups.size(), median(wins.speedups),
               wins.best(), 100 * median(wins.corrections), 100 * median(wins.moving), rules);
}

nlohmann::ordered_json json_of(const Trial& trial) {
  nlohmann::ordered_json kernels = nlohmann::ordered_json::array();
  for (const KernelFigures& kernel : trial.figures.kernels)
    kernels.push_back({{"kernel", kernel.text},
                       {"part", name_of(kernel.part)},
                       {"microseconds", kernel.microseconds},
                       {"is_measured", kernel.is_measured}});
  return {{"microseconds", in_microseconds(trial.figures.total)},
          {"layout", name_of(trial.figures.layout)},
          {"is_measured", trial.is_measured()},
          {"corrections", trial.figures.share(Part::correction)},
          {"moving", trial.figures.share(Part::moving)},
          {"kernels", kernels}};
}

nlohmann::ordered_json names_of(const SweepResult& result) {
  nlohmann::ordered_json names = nlohmann::ordered_json::array();
  for (const search::RewriteRule* rule : result.rules) names.push_back(rule->name());
  return names;
}

void write_json(const std::vector<Outcome>& outcomes, const Settings& settings, const pricing::Pricing& pricing) {
  nlohmann::ordered_json operators = nlohmann::ordered_json::array();
  for (const Outcome& outcome : outcomes) {
    const Contest& contest = *outcome.contest;
    nlohmann::ordered_json results = nlohmann::ordered_json::array();
    for (std::size_t i = 0; i < contest.results.size(); ++i) {
      nlohmann::ordered_json one{{"rules", names_of(contest.results[i])}};
      const Trial* const measured = contest.best_of(i, true);
      one.update(json_of(measured != nullptr ? *measured : *contest.best_of(i, false)));
      results.push_back(std::move(one));
    }
    nlohmann::ordered_json one{{"name", contest.source.name()},
                               {"network", contest.source.network},
                               {"source", json_of(contest.best_source())},
                               {"speedup", outcome.speedup()},
                               {"checked", contest.checked}};
    if (outcome.result != nullptr) {
      one["best"] = {{"rules", names_of(*outcome.result)}};
      one["best"].update(json_of(*outcome.trial));
    }
    one["results"] = std::move(results);
    operators.push_back(std::move(one));
  }
  nlohmann::ordered_json rules = nlohmann::ordered_json::array();
  for (const auto& [names, wins] : wins_of(outcomes))
    rules.push_back({{"rules", names},
                     {"fastest", wins.speedups.size()},
                     {"median", median(wins.speedups)},
                     {"best", wins.best()},
                     {"corrections", median(wins.corrections)},
                     {"moving", median(wins.moving)}});
  const nlohmann::ordered_json all{{"schema_version", 1},
                                   {"prices", pricing.source()},
                                   {"precision", cost::name_of(settings.precision)},
                                   {"libraries_only", settings.libraries_only},
                                   {"rules", rules},
                                   {"operators", operators}};
  write_file(settings.json, all.dump(1) + "\n");
}

/// "conv2d-1x64x56x56-64-3x3-d2"
std::string folder_name(std::string name) {
  std::replace(name.begin(), name.end(), ' ', '-');
  return name;
}

void write_models(const std::vector<Outcome>& outcomes, const Settings& settings) {
  nlohmann::ordered_json index = nlohmann::ordered_json::array();
  taso::onnx::SaveOptions saving;
  saving.sync = false;
  for (const Outcome& outcome : outcomes) {
    const Contest& contest = *outcome.contest;
    if (contest.results.empty()) continue;
    std::vector<std::size_t> order(contest.results.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    const auto price = [&](std::size_t i) { return contest.best_of(i, false)->figures.total; };
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return price(a) < price(b); });
    if (order.size() > settings.write_best) order.resize(settings.write_best);
    const fs::path folder = folder_name(contest.source.name());
    fs::create_directories(settings.write / folder);
    taso::onnx::write_model(contest.graph).save(settings.write / folder / "source.onnx", saving);
    nlohmann::ordered_json results = nlohmann::ordered_json::array();
    for (const std::size_t i : order) {
      const fs::path file = folder / fmt::format("{}.onnx", results.size() + 1);
      taso::onnx::write_model(contest.results[i].graph).save(settings.write / file, saving);
      results.push_back({{"file", file.string()},
                         {"rules", names_of(contest.results[i])},
                         {"microseconds", in_microseconds(price(i))}});
    }
    index.push_back({{"name", contest.source.name()},
                     {"source", (folder / "source.onnx").string()},
                     {"microseconds", outcome.source},
                     {"results", std::move(results)}});
  }
  write_file(settings.write / "index.json", index.dump(1) + "\n");
}

/// Compares all results with their sources at small sizes, and drops the wrong ones. Returns how many there were.
std::size_t drop_wrong(std::vector<Contest>& contests) {
  Checker checker;
  std::size_t wrong = 0;
  for (Contest& contest : contests)
    for (std::size_t i = 0; i < contest.results.size();) {
      const Checker::Verdict verdict = checker.check(contest.source, contest.results[i]);
      contest.checked += verdict == Checker::Verdict::equal ? 1 : 0;
      if (verdict != Checker::Verdict::different) {
        ++i;
        continue;
      }
      ++wrong;
      fmt::print("WRONG {}: {}\n", contest.source.name(), contest.results[i].rule_names());
      contest.drop(i);
    }
  return wrong;
}

int run(int count, char** arguments) {
  const Settings settings = parse(count, arguments);
  const std::vector<SweepOperator> operators = chosen_operators(settings);
  if (settings.only_lists) {
    for (const SweepOperator& one : operators) fmt::print("{}  # {}\n", one.name(), one.network);
    return 0;
  }
  std::vector<RuleGroup> groups;
  for (const fs::path& file : settings.rules)
    groups.emplace_back(rules::parse_rules(Source::read(file.string())).rules());
  const std::unique_ptr<pricing::Pricing> pricing = open_pricing(settings);
  const auto start = std::chrono::steady_clock::now();
  std::vector<Contest> contests;
  contests.reserve(operators.size());
  for (const SweepOperator& one : operators) contests.push_back(contest_of(one, groups, settings.limits, *pricing));
  const std::size_t wrong = settings.is_checked ? drop_wrong(contests) : 0;
  const std::chrono::duration<double> prepared = std::chrono::steady_clock::now() - start;
  fmt::print(stderr, "{} operators prepared in {:.1f} s\n", contests.size(), prepared.count());
  bool is_complete = true;
  if (settings.on_gpu) {
    if (settings.budget)
      pricing->set_deadline(std::chrono::steady_clock::now() + std::chrono::duration<double>(*settings.budget));
    try {
      is_complete = measure(contests, *pricing, settings.slack);
    } catch (const EnvironmentError& error) {  // what was measured before still says something
      fmt::print(stderr, "{}\n", error.what());
      is_complete = false;
    }
    pricing->save();
  }
  std::vector<Outcome> outcomes;
  std::size_t unmeasured = 0;
  for (const Contest& contest : contests) {
    if (settings.on_gpu && !contest.results.empty() && !contest.best_source().is_measured())
      ++unmeasured;
    else
      outcomes.push_back(outcome_of(contest, settings.on_gpu));
  }
  print(outcomes, settings.on_gpu);
  print_summary(outcomes);
  fmt::print("\nprices: {}\n", pricing->source());
  if (!is_complete)
    fmt::print("not all is measured: {} operators are left, others may have faster results\n", unmeasured);
  if (!settings.json.empty()) write_json(outcomes, settings, *pricing);
  if (!settings.write.empty()) write_models(outcomes, settings);
  return wrong == 0 ? 0 : 1;
}

}  // namespace

int main(int count, char** arguments) {
  try {
    return run(count, arguments);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "partial_sweep: %s\n", error.what());
    return 2;
  }
}
