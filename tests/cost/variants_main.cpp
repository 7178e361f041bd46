// cost_variants [--precision tf32] [--prices FILE]... [--count 20] [--budget 60] [--seconds 60] --out FOLDER MODEL: writes
// variants of a model as the search makes them, 1.onnx and so on, for others to find out how well predictions rank them. Each comes
// of a search with some of the rules and with prices that are bent at random, so that good ones and bad ones are among them.
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <set>
#include <string>
#include <unordered_set>

#include <fmt/format.h>

#include "cost/plan.h"
#include "cost/recorded_prices.h"
#include "ops/error.h"
#include "ops/onnx/cleanup.h"
#include "ops/onnx/export.h"
#include "ops/onnx/import.h"
#include "ops/random.h"
#include "ops/source.h"
#include "search/search.h"
#include "tests/search/rule_graph.h"

using namespace taso;

namespace {

/// Times that are right but for a factor, which is the same for all calls of a kind and size.
class BentPrices : public KernelPrices {
 public:
  BentPrices(const KernelPrices& prices, std::uint64_t seed, double most) : prices_(prices), seed_(seed), most_(most) {}
  Cost price(const GraphView& view, const Kernel& kernel) const override {
    const auto size = static_cast<std::uint64_t>(kernel.weight_bytes + 3 * kernel.bytes + 5 * kernel.operations);
    Random random(seed_ * 1'000'003 + size * 7 + static_cast<std::uint64_t>(kernel.kind));
    const double factor = 1 + most_ * (2 * random.unit() - 1);
    return static_cast<Cost>(static_cast<double>(prices_.price(view, kernel)) * factor);
  }
  Cost noise() const override { return prices_.noise(); }

 private:
  const KernelPrices& prices_;
  std::uint64_t seed_;
  double most_;
};

struct Settings {
  Precision precision = Precision::tf32;
  std::shared_ptr<PriceDatabase> prices = std::make_shared<PriceDatabase>();
  std::size_t count = 20, budget = 60;
  double seconds = 60;
  std::filesystem::path out = ".";
  std::string model;
};

Settings settings_of(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const bool has_next = i + 1 < argc;
    if (argument == "--precision" && has_next) {
      settings.precision = precision_named(argv[++i]).value_or(Precision::tf32);
    } else if (argument == "--prices" && has_next) {
      const Source source = Source::read(argv[++i]);
      settings.prices->merge(PriceDatabase::parse(source.text(), source.name()));
    } else if (argument == "--count" && has_next) {
      settings.count = std::stoul(argv[++i]);
    } else if (argument == "--budget" && has_next) {
      settings.budget = std::stoul(argv[++i]);
    } else if (argument == "--seconds" && has_next) {
      settings.seconds = std::stod(argv[++i]);
    } else if (argument == "--out" && has_next) {
      settings.out = argv[++i];
    } else {
      settings.model = argument;
    }
  }
  return settings;
}

void write_variants(const Settings& settings) {
  const auto begin = std::chrono::steady_clock::now();
  const std::vector<Rule> rules = shipped_rules();
  const auto machines = settings.prices->machines();
  const RecordedPrices prices(settings.prices, machines.empty() ? "" : machines.front(), settings.precision);
  std::filesystem::create_directories(settings.out);
  std::set<std::pair<Cost, std::size_t>> seen;
  std::size_t written = 0;
  for (std::uint64_t seed = 0; written < settings.count && seed < 10 * settings.count; ++seed) {
    if (std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() > settings.seconds) break;
    Random random(seed);
    Model model = Model::load(settings.model);
    model.validate();
    auto edit = std::make_unique<GraphEdit>(model);
    clean_up(*edit);
    const Imported imported = import_model(edit->view());
    std::unordered_set<Value, HashValue> named;
    for (const auto& [name, value] : imported.values) named.insert(value);
    std::vector<Rule> some;
    const double share = random.pick(std::vector<double>{0.1, 0.3, 0.6, 1});
    for (const Rule& rule : rules)
      if (random.chance(share)) some.push_back(rule);
    SearchOptions options;
    options.budget = 1 + random.below(settings.budget);
    options.is_named = [&](const Value& value) { return named.contains(value); };
    const BentPrices bent(prices, seed, random.pick(std::vector<double>{0, 0.2, 0.5, 0.8}));
    const SearchResult found = search(imported.graph, some, bent, options);
    if (!found.replacements.complete) continue;
    const Plan laid_out = best_plan(found.graph, prices);
    if (!seen.insert({laid_out.cost, laid_out.launches()}).second) continue;
    try {
      export_values(imported, {found.replacements.rewritten, found.replacements.merged}, *edit);
      clean_up(*edit);
      model = GraphEdit::commit(std::move(edit), std::move(model));
      model.save(settings.out / fmt::format("{}.onnx", written + 1));
    } catch (const InputError&) {
      continue;
    }
    ++written;
    fmt::print("{}: {} steps, {} kernels, predicted {:.2f} us\n", written, found.steps.size(), laid_out.launches(),
               static_cast<double>(laid_out.cost) * 1e-6);
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    write_variants(settings_of(argc, argv));
  } catch (const std::exception& error) {
    fmt::print("{}\n", error.what());
    return 1;
  }
  return 0;
}
