// cost_surroundings [--precision tf32] [--prices FILE]... [--rows N] MODEL...: measures the kernels of models after
// themselves, after the kernel that wrote their operands, and after a kernel with much code, with weights from memory
// and from the cache, and compares that with their times inside the network. Shows which surroundings predict a
// network's time.
#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <string>

#include <fmt/format.h>

#include "cost/pricing/recorded_prices.h"
#include "onnx/cleanup/cleanup.h"
#include "onnx/import/import.h"
#include "ops/core/error.h"
#include "ops/text/source.h"
#include "runtime/gpu/execution.h"

using namespace taso;

namespace {

using Before = gpu::Surroundings::Before;

struct Named {
  const char* name;
  gpu::Surroundings surroundings;
};
constexpr std::array<Named, 6> all_surroundings{{{"itself", {Before::itself, false}},
                                                 {"writer", {Before::writer, false}},
                                                 {"stranger", {Before::stranger, false}},
                                                 {"itself warm", {Before::itself, true}},
                                                 {"writer warm", {Before::writer, true}},
                                                 {"stranger warm", {Before::stranger, true}}}};

struct Settings {
  cost::Precision precision = cost::Precision::tf32;
  std::size_t rows = 1000;
  std::shared_ptr<cost::PriceDatabase> prices = std::make_shared<cost::PriceDatabase>();
};

double median(std::vector<double> numbers) {
  std::sort(numbers.begin(), numbers.end());
  return numbers.at(numbers.size() / 2);
}

/// A call of the model and its times.
struct Kind {
  cost::Call call;
  std::string choice;
  std::size_t steps = 0;
  double in_place = 0;  ///< microseconds, summed over all steps
  std::array<double, all_surroundings.size()> alone{};
};

/// The time of a program with one small step beyond that step: paid once per run, not per kernel.
double once_a_run(gpu::Accelerator& device, gpu::DeviceSteps steps) {
  steps.steps.resize(1);
  const cost::Call call = steps.steps[0].call;
  const std::unique_ptr<gpu::DeviceProgram> program = device.load(std::move(steps));
  const double whole = median(program->time(200));
  return whole - device.time_choice(call, program->choices()[0], {}) * 1e-3;
}

void show(gpu::Accelerator& device, const std::string& path, const Settings& settings) {
  taso::onnx::Model model = taso::onnx::Model::load(path);
  model.validate();
  taso::onnx::GraphEdit edit(model);
  taso::onnx::clean_up(edit);
  const auto imported = edit.imported();
  const std::string machine = fmt::format("{}, {}", device.device(), device.versions());
  const cost::RecordedPrices prices(settings.prices, machine, settings.precision);
  const cost::WholeGraph first(imported->graph, {}, cost::Layout::channels_first),
      last(imported->graph, {}, cost::Layout::channels_last);
  const cost::Plan laid_first = cost::plan(first, prices), laid_last = cost::plan(last, prices);
  const bool is_last = laid_last.cost < laid_first.cost;
  gpu::Execution execution = gpu::make_execution(is_last ? last : first, imported->graph,
                                                 is_last ? laid_last : laid_first, settings.precision);

  std::map<std::string, Kind> kinds;
  std::size_t fresh = 0;
  for (gpu::DeviceSteps::Step& step : execution.steps.steps) {
    if (step.host) continue;
    const std::string text = cost::text_of(step.call);
    Kind& kind = kinds[text];
    if (kind.choice.empty()) {
      kind.call = step.call;
      const cost::RecordedPrice* const known = settings.prices->find(machine, text);
      kind.choice = known != nullptr ? known->choice : device.measure(step.call).choice;
      fresh += known == nullptr;
    }
    step.choice = kind.choice;
  }
  std::vector<std::string> texts;
  for (const gpu::DeviceSteps::Step& step : execution.steps.steps) texts.push_back(cost::text_of(step.call));
  const std::size_t weight_bytes = execution.steps.weights.size();
  const auto arena_bytes = static_cast<double>(execution.steps.arena_bytes);
  const double once = once_a_run(device, execution.steps);
  const std::unique_ptr<gpu::DeviceProgram> program = device.load(std::move(execution.steps));
  const std::vector<double> profile = program->profile();
  double on_device = 0;
  for (std::size_t i = 0; i < profile.size(); ++i) {
    if (!kinds.contains(texts[i])) continue;
    ++kinds[texts[i]].steps;
    kinds[texts[i]].in_place += profile[i];
    on_device += profile[i];
  }
  std::array<double, all_surroundings.size()> sums{};
  for (auto& [text, kind] : kinds) {
    for (std::size_t i = 0; i < all_surroundings.size(); ++i) {
      kind.alone[i] = device.time_choice(kind.call, kind.choice, all_surroundings[i].surroundings) * 1e-3;
      sums[i] += kind.alone[i] * static_cast<double>(kind.steps);
    }
  }
  const double whole = median(program->time(400));
  fmt::print("\n== {}: {} steps, {} calls, {} of them new; weights {:.1f} MB, arena {:.1f} MB\n", path, profile.size(),
             kinds.size(), fresh, static_cast<double>(weight_bytes) * 1e-6, arena_bytes * 1e-6);
  fmt::print("   a run takes {:.1f} us, the profile's device steps {:.1f}, a run besides its steps {:.2f}\n", whole,
             on_device, once);
  for (std::size_t i = 0; i < all_surroundings.size(); ++i)
    fmt::print("   {:14} {:8.1f} us in sum, {:+.1f} % off, {:+.1f} % with what a run takes besides\n",
               all_surroundings[i].name, sums[i], 100 * (sums[i] / whole - 1), 100 * ((sums[i] + once) / whole - 1));
  std::vector<const std::pair<const std::string, Kind>*> order;
  for (const auto& one : kinds) order.push_back(&one);
  std::sort(order.begin(), order.end(),
            [](const auto* a, const auto* b) { return a->second.in_place > b->second.in_place; });
  fmt::print("   steps  in place");
  for (const Named& named : all_surroundings) fmt::print(" {:>8.8}", named.name);
  fmt::print("   (the last three warm)\n");
  for (std::size_t i = 0; i < order.size() && i < settings.rows; ++i) {
    const Kind& kind = order[i]->second;
    fmt::print("   {:5}  {:8.2f}", kind.steps, kind.in_place / static_cast<double>(kind.steps));
    for (const double one : kind.alone) fmt::print(" {:8.2f}", one);
    fmt::print("  {} | {}\n", kind.choice, order[i]->first);
  }
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  std::string trouble;
  const std::unique_ptr<gpu::Accelerator> device = gpu::open_accelerator(trouble);
  if (!device) {
    fmt::print("{}\n", trouble);
    return 0;
  }
  try {
    for (int i = 1; i < argc; ++i) {
      const std::string argument = argv[i];
      if (argument == "--precision" && i + 1 < argc) {
        settings.precision = cost::precision_named(argv[++i]).value_or(cost::Precision::tf32);
      } else if (argument == "--rows" && i + 1 < argc) {
        settings.rows = static_cast<std::size_t>(std::stoul(argv[++i]));
      } else if (argument == "--prices" && i + 1 < argc) {
        const Source source = Source::read(argv[++i]);
        settings.prices->merge(cost::PriceDatabase::parse(source.text(), source.name()));
      } else {
        show(*device, argument, settings);
      }
    }
  } catch (const std::exception& error) {
    fmt::print("{}\n", error.what());
    return 1;
  }
  return 0;
}
