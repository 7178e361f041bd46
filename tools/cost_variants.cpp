// cost_variants [--precision tf32] [--prices FILE] [--count 20] [--seed 0] [--budget 60] [--jobs 0] [--searching 20]
// [--turn FILE] [--seconds 20] [--within S] [--loads 2] [--runs 100] [--json FILE] [--write FOLDER] MODEL: runs variants
// of a model on the GPU in turn, as the search produces them, and prints predicted and measured times, as taso-bench
// does. With --write, it writes them as models instead, 1.onnx and so on, for other runtimes.
//
// Each variant comes from a search with some of the rules and with randomly distorted prices, so that there are good
// and bad ones, or is an intermediate graph of such a search. If the shipped rules give too few, properties are used as
// rules too. Of three times as many variants it takes those that need the fewest new kernel measurements. Each is
// loaded more than once, because the placement of a graph in memory also matters.
//
// The process that holds the lock on the file of --turn has the GPU; others search meanwhile, with few jobs, because
// the measured process should not wait for a core. Variants that cannot be finished within S seconds of the start are
// left out; if fewer than two can be compared for lack of time, that is an error. Without a GPU the variants are only
// listed, or written.
#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <set>
#include <string>
#include <unordered_set>

#include <fmt/format.h>

#include "cli/bench/figures.h"
#include "cli/bench/gpu_model.h"
#include "cli/console/console.h"
#include "cli/console/measuring.h"
#include "cost/plan/plan.h"
#include "onnx/cleanup/cleanup.h"
#include "onnx/export/export.h"
#include "onnx/import/import.h"
#include "ops/core/error.h"
#include "ops/core/random.h"
#include "ops/support/atomic_file.h"
#include "ops/support/threads.h"
#include "search/search.h"
#include "tests/search/rule_graph.h"

using namespace taso;
using namespace taso::test;

namespace {

/// Prices that are distorted by a random factor, the same for all calls of one kind and size.
class BentPrices : public cost::KernelPrices {
 public:
  BentPrices(const cost::KernelPrices& prices, std::uint64_t seed, double most)
      : prices_(prices), seed_(seed), most_(most) {}
  cost::Cost price(const cost::GraphView& view, const cost::Kernel& kernel) const override {
    const auto size = static_cast<std::uint64_t>(kernel.weight_bytes + 3 * kernel.bytes + 5 * kernel.operations);
    Random random(seed_ * 1'000'003 + size * 7 + static_cast<std::uint64_t>(kernel.kind));
    const double factor = std::exp(most_ * (2 * random.unit() - 1));
    return static_cast<cost::Cost>(static_cast<double>(prices_.price(view, kernel)) * factor);
  }
  cost::Cost noise() const override { return prices_.noise(); }

 private:
  const cost::KernelPrices& prices_;
  std::uint64_t seed_;
  double most_;
};

struct Settings {
  cost::Precision precision = cost::Precision::tf32;
  std::optional<std::filesystem::path> prices, json, turn, write;
  std::size_t count = 20, budget = 60, loads = 2, runs = 100;
  std::uint64_t seed = 0;                                   ///< another seed gives other variants
  unsigned jobs = 0;                                        ///< of searches; 0: one per core
  double searching = 20, seconds = 20;                      ///< on the CPU alone, and on the GPU
  double within = std::numeric_limits<double>::infinity();  ///< seconds in total, including the wait for the GPU
  std::string model;
};

Settings settings_of(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const bool has_next = i + 1 < argc;
    if (argument == "--precision" && has_next) {
      settings.precision = cost::precision_named(argv[++i]).value_or(cost::Precision::tf32);
    } else if (argument == "--prices" && has_next) {
      settings.prices = argv[++i];
    } else if (argument == "--count" && has_next) {
      settings.count = std::stoul(argv[++i]);
    } else if (argument == "--seed" && has_next) {
      settings.seed = std::stoull(argv[++i]);
    } else if (argument == "--budget" && has_next) {
      settings.budget = std::stoul(argv[++i]);
    } else if (argument == "--runs" && has_next) {
      settings.runs = std::stoul(argv[++i]);
    } else if (argument == "--loads" && has_next) {
      settings.loads = std::stoul(argv[++i]);
    } else if (argument == "--jobs" && has_next) {
      settings.jobs = static_cast<unsigned>(std::stoul(argv[++i]));
    } else if (argument == "--within" && has_next) {
      settings.within = std::stod(argv[++i]);
    } else if (argument == "--searching" && has_next) {
      settings.searching = std::stod(argv[++i]);
    } else if (argument == "--turn" && has_next) {
      settings.turn = argv[++i];
    } else if (argument == "--seconds" && has_next) {
      settings.seconds = std::stod(argv[++i]);
    } else if (argument == "--json" && has_next) {
      settings.json = argv[++i];
    } else if (argument == "--write" && has_next) {
      settings.write = argv[++i];
    } else {
      settings.model = argument;
    }
  }
  return settings;
}

using Moment = std::chrono::steady_clock::time_point;

double seconds_since(Moment begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// A variant, the predicted sequential time of its kernels, and those kernels that are not measured yet.
struct Variant {
  Graph graph;
  cost::Cost cost = 0;
  pricing::MissingCalls missing;
  search::Replacements replacements;  ///< with which it can be written
  bool is_last = false;               ///< of its search; else there are no replacements
};

/// A random selection of the rules.
std::vector<rules::Rule> some_of(const std::vector<rules::Rule>& rules, Random& random) {
  const double share = random.pick(std::vector<double>{0.1, 0.3, 0.6, 1});
  std::vector<rules::Rule> some;
  for (const rules::Rule& rule : rules)
    if (random.chance(share)) some.push_back(rule);
  return some;
}

/// Makes variants with different predicted times; the first is the model itself.
class VariantMaker {
 public:
  VariantMaker(const taso::onnx::ImportedModel& imported, pricing::Pricing& pricing, const Settings& settings)
      : imported_(imported),
        pricing_(pricing),
        settings_(settings),
        wanted_(3 * settings.count),
        seed_(settings.seed * 1'000'003) {
    for (const auto& [name, value] : imported.values) named_.insert(value);
  }

  std::vector<Variant> make() {
    const auto begin = std::chrono::steady_clock::now();
    add(imported_.graph, 0);
    std::vector<rules::Rule> rules = shipped_rules();
    search_with(rules, begin, settings_.searching / 2);
    for (rules::Rule& rule : rules_of_file(source_folder() / "rules/properties.rules"))
      rules.push_back(std::move(rule));
    if (variants_.size() < settings_.count) search_with(rules, begin, settings_.searching);
    return std::move(variants_);
  }

 private:
  void search_with(const std::vector<rules::Rule>& rules, Moment begin, double seconds) {
    const std::size_t most = variants_.size() + 3 * wanted_;
    for (std::size_t i = variants_.size(); i < most && variants_.size() < wanted_; ++i) {
      if (seconds_since(begin) > seconds) return;
      Random random(++seed_);
      search::SearchOptions options;
      options.budget = 1 + random.below(settings_.budget);
      options.jobs = thread_count(settings_.jobs);
      options.is_named = [&](const Value& value) { return named_.contains(value); };
      options.keeps_way = true;
      const BentPrices bent(pricing_.times(), seed_, random.pick(std::vector<double>{0, 0.2, 0.5, 1, 2}));
      const search::SearchResult found = search::search(imported_.graph, some_of(rules, random), bent, options);
      if (add(found.graph, found.steps.size())) {
        variants_.back().replacements = found.replacements;
        variants_.back().is_last = true;
      }
      if (found.way.empty()) continue;
      const std::size_t step = random.below(found.way.size());
      add(found.way[step], step + 1);
    }
  }

  /// False if one like it is there.
  bool add(const Graph& graph, std::size_t steps) {
    const cost::Plan laid_out = cost::best_plan(graph, pricing_.times());
    if (!seen_.insert({laid_out.cost, laid_out.launches()}).second) return false;
    Variant& variant = variants_.emplace_back();
    variant.graph = graph;
    variant.cost = laid_out.cost;
    pricing_.find_missing(variant.graph, {}, variant.missing);
    fmt::print("{}: {} steps, {} kernels, {} not measured, predicted {:.2f} us\n", variants_.size(), steps,
               laid_out.launches(), variant.missing.size(), static_cast<double>(laid_out.cost) * 1e-6);
    std::fflush(stdout);
    return true;
  }

  const taso::onnx::ImportedModel& imported_;
  pricing::Pricing& pricing_;
  const Settings& settings_;
  std::size_t wanted_;
  std::unordered_set<Value, HashValue> named_;
  std::uint64_t seed_;
  std::set<std::pair<cost::Cost, std::size_t>> seen_;
  std::vector<Variant> variants_;
};

/// Selects `count` variants, the first one always. Repeatedly takes a variant that adds the fewest kernels to be
/// measured and, among these, the one whose predicted time differs most from the chosen ones.
std::vector<const Variant*> choose(const std::vector<Variant>& variants, std::size_t count) {
  std::set<std::string> measured;
  std::vector<const Variant*> chosen, left;
  for (const Variant& variant : variants) left.push_back(&variant);
  const auto weight_of = [&](const Variant* variant) {
    const auto added = std::count_if(variant->missing.begin(), variant->missing.end(),
                                     [&](const auto& one) { return !measured.contains(one.first); });
    cost::Cost apart = std::numeric_limits<cost::Cost>::max();
    for (const Variant* other : chosen) apart = std::min(apart, std::abs(variant->cost - other->cost));
    return std::pair(added, -apart);
  };
  while (!left.empty() && chosen.size() < count) {
    auto next = left.begin();
    if (!chosen.empty()) next = std::ranges::min_element(left, {}, weight_of);
    for (const auto& [text, call] : (*next)->missing) measured.insert(text);
    chosen.push_back(*next);
    left.erase(next);
  }
  return chosen;
}

/// Waits until no other process has the GPU, and keeps it until the program ends.
void take_turn(const std::filesystem::path& file) {
  const int descriptor = open(file.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0666);
  if (descriptor < 0 || flock(descriptor, LOCK_EX) != 0) throw EnvironmentError("no lock on " + file.string());
}

/// Runs the variants that are ready in time and reports predicted and measured times. The vector must not move.
void compare(const std::vector<Variant>& variants, pricing::Pricing& pricing, const Settings& settings, Moment start) {
  const Moment begin = std::chrono::steady_clock::now();
  const double seconds = std::min(settings.seconds, settings.within - seconds_since(start));
  const auto share_of_time = [&](double share) {
    return begin + std::chrono::duration<double>(share * std::max(seconds, 0.0));
  };
  pricing.set_deadline(share_of_time(0.5));
  cli::BenchReport report;
  report.device = pricing.gpu()->device();
  report.versions = pricing.gpu()->versions();
  report.precision = settings.precision;
  std::vector<std::unique_ptr<cli::GpuModel>> ready;
  std::vector<cli::GpuModel*> turns;
  double running = 0;  // seconds that these runs are expected to take
  const auto load = [&](const Variant& variant) {
    pricing.set_cache_residency(variant.graph, {});
    auto one = std::make_unique<cli::GpuModel>(variant.graph, pricing);
    pricing::MissingCalls left;  // those for which there was no time
    pricing.find_missing(variant.graph, {}, left);
    if (!left.empty()) return false;
    one->prepare();
    cli::BenchFigures& figures = report.models.emplace_back();
    figures.model = fmt::format("{}", &variant - variants.data() + 1);
    cli::describe(*one, figures);
    constexpr double with_warming = 1.1;
    running += figures.predicted.value_or(0) * 1e-6 * static_cast<double>(settings.runs) * with_warming;
    ready.push_back(std::move(one));
    turns.push_back(ready.back().get());
    return true;
  };
  const std::vector<const Variant*> chosen = choose(variants, settings.count);
  std::vector<const Variant*> loaded = chosen;
  std::size_t compared = 0;
  for (std::size_t time = 0; time < settings.loads; ++time) {
    std::erase_if(loaded, [&](const Variant* variant) {
      // The first round decides which variants are compared.
      const bool is_late = std::chrono::steady_clock::now() > share_of_time(time == 0 ? 0.7 : 1) ||
                           seconds_since(start) + running > settings.within;
      return is_late || !load(*variant);
    });
    compared = std::max(compared, loaded.size());
  }
  // A single variant has nothing to be compared with. What was measured now is known the next time.
  if (compared < std::min<std::size_t>(2, chosen.size()))
    throw EnvironmentError(fmt::format("error: {} of {} variants ready in time, after {:.1f} s on the GPU", compared,
                                       chosen.size(), seconds_since(begin)));
  const auto times = cli::time_in_turn(turns, settings.runs);
  for (std::size_t i = 0; i < times.size(); ++i) report.models[i].microseconds = times[i];
  report.state = pricing.gpu()->state();
  fmt::print("{}\n{} variants of {}, loaded {} times, in {:.1f} s, {} kernels measured in {:.1f} s of them\n",
             cli::table_of(report), compared, variants.size(), turns.size(), seconds_since(begin), pricing.measured(),
             pricing.measuring());
  if (settings.json) write_file(*settings.json, cli::json_of(report));
}

/// Writes a variant of what was imported from the model after clean-ups. False if it cannot be written: opaque nodes
/// stay where they are, which only replacements tell.
bool write_variant(const Settings& settings, const taso::onnx::ImportedModel& imported, const Variant& variant,
                   const std::filesystem::path& file) {
  taso::onnx::Model model = taso::onnx::Model::load(settings.model);
  auto edit = std::make_unique<taso::onnx::GraphEdit>(model);
  taso::onnx::clean_up(*edit);
  try {
    const search::Replacements& replacements = variant.replacements;
    if (!variant.is_last)
      taso::onnx::export_graph(imported, variant.graph, *edit);
    else if (replacements.complete)
      taso::onnx::export_values(imported, {replacements.rewritten, replacements.merged}, *edit);
    else
      return false;
  } catch (const InputError&) {
    return false;
  }
  // Weights that the variant computes are computed here: ONNX Runtime takes a Pad of weights for one of the image.
  constexpr std::size_t all = std::size_t{1} << 30;
  taso::onnx::clean_up(*edit, {.disabled = {}, .fold_limit = all, .memory_limit = all});
  taso::onnx::GraphEdit::commit(std::move(edit), std::move(model)).save(file);
  return true;
}

/// Writes as many as can be written, the original first, up to the number that is wanted.
void write_variants(const Settings& settings, const taso::onnx::ImportedModel& imported,
                    const std::vector<Variant>& variants) {
  std::size_t written = 0;
  for (const Variant* variant : choose(variants, variants.size())) {
    const std::filesystem::path file = *settings.write / fmt::format("{}.onnx", written + 1);
    if (write_variant(settings, imported, *variant, file) && ++written == settings.count) break;
  }
  fmt::print("{} of {} variants written\n", written, variants.size());
}

void run(const Settings& settings) {
  const Moment start = std::chrono::steady_clock::now();
  cli::Console console({});
  std::string trouble;
  std::shared_ptr<gpu::Accelerator> gpu = gpu::open_accelerator(trouble);
  const pricing::PricingOptions options{gpu != nullptr && !settings.write, settings.prices, settings.precision};
  pricing::Pricing before(options, std::move(gpu), cli::measuring_on(console));
  taso::onnx::Model model = taso::onnx::Model::load(settings.model);
  model.validate();
  taso::onnx::GraphEdit edit(model);
  taso::onnx::clean_up(edit);
  const auto imported = edit.imported();
  before.set_cache_residency(imported->graph, {});
  std::vector<Variant> variants = VariantMaker(*imported, before, settings).make();
  if (settings.write) {
    write_variants(settings, *imported, variants);
    return;
  }
  if (!options.on_gpu) {
    fmt::print("no GPU can be used: {}\n", trouble);
    return;
  }
  if (variants.empty()) throw EnvironmentError("error: no variant found in time");
  if (settings.turn) take_turn(*settings.turn);
  // Read the prices again: do not measure again, or overwrite, what others have measured meanwhile.
  pricing::Pricing pricing(options, before.release_gpu(), cli::measuring_on(console));
  pricing.set_cache_residency(imported->graph, {});
  for (Variant& variant : variants) {
    if (variant.missing.empty()) continue;
    variant.missing.clear();
    pricing.find_missing(variant.graph, {}, variant.missing);
  }
  compare(variants, pricing, settings, start);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run(settings_of(argc, argv));
  } catch (const std::exception& error) {
    fmt::print("{}\n", error.what());
    return 1;
  }
  return 0;
}
