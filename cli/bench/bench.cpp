#include "cli/bench/bench.h"

#include <algorithm>
#include <chrono>
#include <memory>

#include <fmt/format.h>

#include "cli/bench/agreement.h"
#include "cli/bench/figures.h"
#include "cli/bench/gpu_model.h"
#include "cli/bench/loaded_model.h"
#include "cli/bench/record.h"
#include "cli/console/interrupt.h"
#include "cli/console/measuring.h"
#include "cli/console/table.h"
#include "cli/details/page.h"
#include "cli/files/places.h"
#include "cli/files/rule_input.h"
#include "onnx/cleanup/cleanup.h"
#include "onnx/import/import.h"
#include "onnx/model/proto.h"
#include "ops/core/error.h"
#include "ops/core/random.h"
#include "ops/support/atomic_file.h"
#include "ops/text/source.h"
#include "runtime/host/interpreter.h"
#include "runtime/pricing/pricing.h"

namespace taso::cli {
namespace {

using std::filesystem::path;
using Level = Console::Level;

/// Whether both models take inputs of the same types and shapes; names may differ.
bool have_alike_inputs(const LoadedModel& first, const LoadedModel& second) {
  const auto types = [](const LoadedModel& model) {
    std::vector<std::pair<ElementType, Extents>> list;
    for (const Array& input : model.inputs) list.emplace_back(input.type(), input.extents());
    std::sort(list.begin(), list.end());
    return list;
  };
  return types(first) == types(second);
}

std::int64_t examples_of(const LoadedModel& loaded) {
  if (loaded.inputs.empty() || loaded.inputs[0].rank() == 0) return 1;
  return std::max<std::int64_t>(loaded.inputs[0].extents()[0], 1);
}

runtime::InterpreterOptions reference_options(const BenchSettings& settings) {
  runtime::InterpreterOptions options;
  options.threads = settings.jobs;
  return options;
}

/// Runs `work`; adds the model's file name to an InputError that it throws.
template <class Do>
auto with_file_name(const LoadedModel& loaded, Do&& work) {
  try {
    return work();
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}: {}", loaded.file.string(), error.what()));
  }
}

void run_on_gpu(pricing::Pricing& pricing, std::vector<LoadedModel>& models, const BenchSettings& settings,
                BenchReport& report) {
  const gpu::Accelerator& gpu = *pricing.gpu();
  report.device = gpu.device();
  report.versions = gpu.versions();
  std::vector<std::unique_ptr<GpuModel>> ready;
  std::vector<GpuModel*> turns;
  for (const LoadedModel& loaded : models) {
    pricing.set_cache_residency(loaded.graph, {});
    ready.push_back(with_file_name(loaded, [&] { return std::make_unique<GpuModel>(loaded.graph, pricing); }));
    turns.push_back(ready.back().get());
    if (interrupted()) return;
    with_file_name(loaded, [&] { ready.back()->prepare(settings.lanes); });
    BenchFigures& figures = report.models.emplace_back();
    figures.model = loaded.file;
    figures.examples = examples_of(loaded);
    figures.has_inputs_of_first = have_alike_inputs(models.front(), loaded);
    describe(*ready.back(), figures);
    const std::vector<Array> outputs = with_file_name(loaded, [&] { return ready.back()->run(loaded.inputs); });
    if (settings.check)
      figures.check = with_file_name(loaded, [&] {
        return agreement_of(loaded.graph, loaded.inputs, outputs, settings.precision, reference_options(settings));
      });
    if (figures.check && is_rounding_as_far(*figures.check))
      figures.range = with_file_name(loaded, [&] {
        return range_trouble(loaded.graph, loaded.inputs, settings.precision, loaded.names,
                             reference_options(settings));
      });
  }
  if (interrupted()) return;
  const auto times = time_in_turn(turns, settings.runs.value_or(runs_on_gpu));
  for (std::size_t i = 0; i < times.size(); ++i) report.models[i].microseconds = times[i];
  report.state = gpu.state();
  if ((!settings.profile && !settings.html) || interrupted()) return;
  for (std::size_t i = 0; i < ready.size(); ++i) report.models[i].profile = profile(*ready[i]);
}

void run_on_cpu(std::vector<LoadedModel>& models, const BenchSettings& settings, BenchReport& report) {
  report.device = "CPU";
  for (const LoadedModel& loaded : models) {
    report.models.emplace_back();
    report.models.back().model = loaded.file;
    report.models.back().examples = examples_of(loaded);
    report.models.back().has_inputs_of_first = have_alike_inputs(models.front(), loaded);
  }
  const auto run = [&](std::size_t i) {
    with_file_name(models[i],
                   [&] { return runtime::interpret(models[i].graph, models[i].inputs, reference_options(settings)); });
  };
  const auto take = [&](std::size_t i) {
    if (interrupted()) return;
    const auto start = std::chrono::steady_clock::now();
    run(i);
    const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - start;
    report.models[i].microseconds.push_back(time.count());
  };
  for (std::size_t i = 0; i < models.size() && !interrupted(); ++i) run(i);  // warm-up
  const std::size_t runs = settings.runs.value_or(runs_on_cpu);
  for (std::size_t done = 0; done < runs && !interrupted(); done += 2) {
    for (std::size_t i = 0; i < models.size(); ++i) take(i);
    if (models.size() == 1 && done + 1 == runs) break;  // a single model needs no second turn
    for (std::size_t i = models.size(); i-- > 0;) take(i);
  }
}

}  // namespace

ExitCode bench(const BenchSettings& settings, Console& console) {
  check_weights_are_kept(settings.models, written_places(settings));
  for (const auto& file : {settings.json, settings.html, settings.exported})
    if (file) check_writable(*file);
  std::shared_ptr<gpu::Accelerator> gpu;
  std::string trouble;
  if (!settings.models.empty() && settings.device != BenchSettings::Device::cpu) gpu = gpu::open_accelerator(trouble);
  if (!gpu && (settings.record || settings.device == BenchSettings::Device::cuda))
    throw EnvironmentError(fmt::format("no GPU can be used: {}", trouble));
  if (settings.prices && !settings.imported && !(gpu && settings.measure)) pricing::require_prices(*settings.prices);
  pricing::PricingOptions priced{gpu != nullptr, settings.prices, settings.precision, true, settings.measure};
  priced.with_own = true;  // needed for export and for additions
  pricing::Pricing pricing(priced, std::move(gpu), measuring_on(console));
  if (settings.imported) {
    const Source source = read_source(*settings.imported);
    const cost::PriceDatabase taken = cost::PriceDatabase::parse(source.text(), source.name());
    pricing.store().add(taken);
    pricing.save();
    for (const std::string& machine : taken.machines())
      console.say(Level::result,
                  fmt::format("{} prices of {}", with_commas(taken.size(machine)), on_one_line(machine)));
  }
  console.begin_log();
  bool agree = true;
  if (settings.record) {
    if (const ExitCode ending = record(settings, pricing.release_gpu(), console); ending != ExitCode::done)
      return ending;
    if (settings.exported) write_output(*settings.exported, pricing::PriceStore(settings.prices).all().text());
    return ExitCode::done;
  }
  if (!settings.models.empty()) {
    std::vector<LoadedModel> models;
    for (const path& file : settings.models) models.push_back(load(file, settings));
    BenchReport report;
    if (pricing.gpu() != nullptr) {
      report.precision = settings.precision;
      run_on_gpu(pricing, models, settings, report);
    } else {
      if (!trouble.empty()) console.say(Level::result, fmt::format("no GPU can be used: {}", trouble));
      if (settings.is_precision_given) console.say(Level::result, "--precision has no effect without a GPU");
      if (settings.profile) console.say(Level::result, "--profile has no effect without a GPU");
      run_on_cpu(models, settings, report);
    }
    // After an interrupt, report the models that ran.
    report.is_complete = !interrupted();
    std::erase_if(report.models, [](const BenchFigures& one) { return one.microseconds.empty(); });
    if (report.models.empty()) console.error("interrupted before any model had run");
    if (!report.models.empty()) {
      for (const BenchFigures& one : report.models)
        if (settings.profile && !one.profile.empty())
          console.say(Level::result, fmt::format("{}\n{}", on_one_line(one.model.string()), profile_of(one)));
      console.say(Level::result, table_of(report));
      if (settings.json) write_output(*settings.json, json_of(report));
      if (settings.html) write_output(*settings.html, bench_page_of(json_of(report)));
      for (const BenchFigures& one : report.models) agree = agree && (!one.check || one.check->agrees);
    }
  }
  if (settings.exported) write_output(*settings.exported, pricing.store().all().text());
  if (!agree) {
    console.error("an output of the GPU does not agree with the reference");
    return ExitCode::check_failed;
  }
  return interrupted() ? ExitCode::interrupted : ExitCode::done;
}

}  // namespace taso::cli
