#include "cli/bench/bench.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>

#include <fmt/format.h>

#include "cli/bench/figures.h"
#include "cli/interrupt.h"
#include "cli/pricing.h"
#include "cli/table.h"
#include "cost/execution.h"
#include "ops/error.h"
#include "ops/interpreter.h"
#include "ops/onnx/atomic_file.h"
#include "ops/onnx/cleanup.h"
#include "ops/onnx/import.h"
#include "ops/onnx/proto.h"
#include "ops/random.h"
#include "ops/source.h"

namespace taso {
namespace {

using std::filesystem::path;
using Level = Console::Level;

/// A model as it is run: cleaned up, with all sizes known.
struct LoadedModel {
  path file;
  Model model;
  std::unique_ptr<GraphEdit> edit;
  Graph graph;
  std::vector<Array> inputs;
};

/// The shapes that were asked for, and the batch where it was.
std::vector<InputShape> shapes_for(const Model& model, const BenchSettings& settings) {
  std::vector<InputShape> shapes = settings.shapes;
  if (!settings.batch) return shapes;
  const std::vector<std::string> names = real_inputs(model.proto());
  for (const auto& input : model.proto().graph().input()) {
    if (std::find(names.begin(), names.end(), input.name()) == names.end()) continue;
    if (std::any_of(shapes.begin(), shapes.end(),
                    [&](const InputShape& shape) { return !shape.input || *shape.input == input.name(); }))
      continue;
    const auto& dims = input.type().tensor_type().shape().dim();
    Extents extents;
    for (int i = 0; i < dims.size(); ++i) extents.push_back(i == 0 ? *settings.batch : dims[i].dim_value());
    // Others that are unknown have to be given by name.
    if (!extents.empty() && std::find(extents.begin(), extents.end(), 0) == extents.end())
      shapes.push_back({input.name(), extents});
  }
  return shapes;
}

Array random_input(Random& random, ElementType element, const Extents& extents) {
  Array doubles(ElementType::float64, extents);
  const bool floating = is_floating(element);
  for (double& value : doubles.mutable_values<double>())
    value = floating ? random.unit() * 2 - 1 : static_cast<double>(random.below(2));
  return doubles.cast(element);
}

LoadedModel load(const path& file, const BenchSettings& settings) {
  LoadedModel loaded{file, Model::load(file), nullptr, {}, {}};
  try {
    loaded.model.validate();
    const std::vector<InputShape> shapes = shapes_for(loaded.model, settings);
    if (!shapes.empty()) overwrite_input_shapes(loaded.model, shapes);
    loaded.edit = std::make_unique<GraphEdit>(loaded.model);
    clean_up(*loaded.edit);
    loaded.graph = import_model(loaded.edit->view()).graph;
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}: {}", file.string(), error.what()));
  }
  Random random(settings.seed);
  for (const Value& input : loaded.graph.inputs) {
    const auto extents = input.type().shape ? static_extents(*input.type().shape) : std::nullopt;
    if (!extents)
      throw InputError(fmt::format("{}: the input '{}' has no known shape: give it by --test-input-shape",
                                   file.string(), on_one_line(input.node->as_input()->name)));
    loaded.inputs.push_back(random_input(random, input.type().element, *extents));
  }
  return loaded;
}

/// How far an output may be from the reference, as a share of its norm.
double tolerance_of(Precision precision) {
  switch (precision) {
    case Precision::fp32: return 1e-4;
    case Precision::tf32: return 1e-2;
    case Precision::fp16: return 3e-2;
    case Precision::bf16: break;
  }
  return 1e-1;
}

double relative_error(const Array& expected, const Array& actual) {
  const std::vector<double> x = expected.doubles(), y = actual.doubles();
  double error = 0, norm = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i]))) continue;
    error += (x[i] - y[i]) * (x[i] - y[i]);
    norm += x[i] * x[i];
  }
  if (!std::isfinite(error)) return std::numeric_limits<double>::infinity();
  return error == 0 ? 0 : std::sqrt(error / std::max(norm, 1e-30));
}

std::string operators_of(const Kernel& kernel, const WholeGraph& view) {
  if (kernel.nodes.empty()) return "layout";
  std::string text;
  for (const PlanNode node : kernel.nodes) {
    if (!text.empty()) text += " ";
    text += view.op(node) ? name_of(*view.op(node)) : std::string_view(view.node(node).as_opaque()->kind);
  }
  return text;
}

/// A model on a GPU.
class GpuModel {
 public:
  GpuModel(LoadedModel& loaded, Pricing& pricing, const BenchSettings& settings)
      : loaded_(loaded), pricing_(pricing), settings_(settings) {
    for (const Layout layout : {Layout::channels_first, Layout::channels_last}) {
      auto view = std::make_unique<WholeGraph>(loaded.graph, DimensionSizes(), layout);
      Plan laid_out = plan(*view, pricing.times());
      if (view_ && laid_out.cost >= plan_.cost) continue;
      view_ = std::move(view);
      plan_ = std::move(laid_out);
    }
    pricing.save();
  }

  void prepare() {
    Execution execution = make_execution(*view_, loaded_.graph, plan_, settings_.precision);
    on_host_ = execution.on_host;
    plan_steps_ = execution.plan_steps;
    arena_bytes_ = execution.steps.arena_bytes;
    for (DeviceSteps::Step& step : execution.steps.steps)
      if (!step.host) step.choice = pricing_.choice_of(step.call);
    program_ = pricing_.gpu()->load(std::move(execution.steps));
  }

  BenchFigures figures() const {
    BenchFigures figures;
    figures.model = loaded_.file;
    figures.predicted = static_cast<double>(plan_.cost) * 1e-6;
    Cost measured = 0;
    for (const Plan::Step& step : plan_.steps)
      if (pricing_.times().measured(*view_, step.kernel)) measured += step.price;
    figures.measured_share = plan_.cost > 0 ? static_cast<double>(measured) / static_cast<double>(plan_.cost) : 1;
    figures.kernels = program_->launches();
    figures.device_bytes = program_->device_bytes();
    figures.arena_bytes = arena_bytes_;
    figures.layout = plan_.layout == Layout::channels_last ? "channels last" : "channels first";
    figures.on_host = on_host_;
    return figures;
  }

  std::vector<Array> run() {
    std::vector<std::vector<std::byte>> bytes;
    for (std::size_t i = 0; i < loaded_.inputs.size(); ++i) {
      const bool is_used = view_->find(loaded_.graph.inputs[i]) != no_plan_value;
      bytes.push_back(is_used ? to_device(loaded_.inputs[i], settings_.precision) : std::vector<std::byte>());
    }
    const std::vector<std::span<const std::byte>> spans(bytes.begin(), bytes.end());
    const auto outputs = program_->run(spans);
    std::vector<Array> arrays;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const PlanValue value = view_->find(loaded_.graph.outputs[i]);
      arrays.push_back(from_device(outputs[i], view_->element(value), *view_->extents(value), settings_.precision));
    }
    return arrays;
  }

  std::vector<double> time(std::size_t runs) { return program_->time(runs); }

  std::vector<BenchFigures::Kernel> profile() {
    const std::vector<double> measured = program_->profile();
    std::vector<BenchFigures::Kernel> kernels;
    for (std::size_t i = 0; i < measured.size(); ++i) {
      BenchFigures::Kernel kernel{"copy of an output", program_->choices()[i], 0, measured[i]};
      if (i < plan_steps_.size()) {
        const Plan::Step& step = plan_.steps[plan_steps_[i]];
        kernel.operators = operators_of(step.kernel, *view_);
        kernel.predicted = static_cast<double>(step.price) * 1e-6;
      }
      kernels.push_back(std::move(kernel));
    }
    return kernels;
  }

 private:
  LoadedModel& loaded_;
  Pricing& pricing_;
  const BenchSettings& settings_;
  std::unique_ptr<WholeGraph> view_;
  Plan plan_;
  std::unique_ptr<DeviceProgram> program_;
  std::vector<std::string> on_host_;
  std::vector<std::size_t> plan_steps_;
  std::int64_t arena_bytes_ = 0;
};

std::int64_t examples_of(const LoadedModel& loaded) {
  if (loaded.inputs.empty() || loaded.inputs[0].rank() == 0) return 1;
  return std::max<std::int64_t>(loaded.inputs[0].extents()[0], 1);
}

std::vector<Array> reference_of(const LoadedModel& loaded, const BenchSettings& settings) {
  InterpreterOptions options;
  options.threads = settings.jobs;
  try {
    return interpret(loaded.graph, loaded.inputs, options);
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}: {}", loaded.file.string(), error.what()));
  }
}

void compare_with_reference(BenchFigures& figures, const std::vector<Array>& outputs, const LoadedModel& loaded,
                            const BenchSettings& settings) {
  const std::vector<Array> expected = reference_of(loaded, settings);
  figures.error = 0;
  for (std::size_t i = 0; i < outputs.size(); ++i)
    figures.error = std::max(*figures.error, relative_error(expected[i], outputs[i]));
  figures.agrees = *figures.error <= tolerance_of(settings.precision);
}

void run_on_gpu(Pricing& pricing, std::vector<LoadedModel>& models, const BenchSettings& settings,
                BenchReport& report) {
  const Accelerator& gpu = *pricing.gpu();
  report.device = gpu.device();
  report.versions = gpu.versions();
  std::vector<std::unique_ptr<GpuModel>> ready;
  for (LoadedModel& loaded : models) {
    ready.push_back(std::make_unique<GpuModel>(loaded, pricing, settings));
    if (settings.record) continue;
    if (interrupted()) return;
    ready.back()->prepare();
    report.models.push_back(ready.back()->figures());
    report.models.back().examples = examples_of(loaded);
    const std::vector<Array> outputs = ready.back()->run();
    if (settings.check) compare_with_reference(report.models.back(), outputs, loaded, settings);
  }
  if (settings.record) return;
  // To and fro, so that a machine that gets warmer or slower in the meantime does so for all.
  constexpr std::size_t rounds = 10;
  const std::size_t runs = std::max<std::size_t>(1, (settings.runs + 2 * rounds - 1) / (2 * rounds));
  const auto take = [&](std::size_t i) {
    const std::vector<double> times = ready[i]->time(runs);
    report.models[i].microseconds.insert(report.models[i].microseconds.end(), times.begin(), times.end());
  };
  for (GpuModel* one : {ready.front().get(), ready.back().get()}) one->time(runs);  // to get warm
  for (std::size_t round = 0; round < rounds && !interrupted(); ++round) {
    for (std::size_t i = 0; i < ready.size(); ++i) take(i);
    for (std::size_t i = ready.size(); i-- > 0;) take(i);
  }
  report.state = gpu.state();
  if (!settings.profile) return;
  for (std::size_t i = 0; i < ready.size(); ++i) report.models[i].profile = ready[i]->profile();
}

void run_on_cpu(std::vector<LoadedModel>& models, const BenchSettings& settings, BenchReport& report) {
  report.device = "CPU";
  for (const LoadedModel& loaded : models) {
    report.models.emplace_back();
    report.models.back().model = loaded.file;
    report.models.back().examples = examples_of(loaded);
  }
  constexpr std::size_t most_rounds = 3;
  const std::size_t rounds = std::min<std::size_t>(most_rounds, (settings.runs + 1) / 2);
  const auto take = [&](std::size_t i) {
    const auto start = std::chrono::steady_clock::now();
    reference_of(models[i], settings);
    const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - start;
    report.models[i].microseconds.push_back(time.count());
  };
  for (std::size_t round = 0; round < rounds && !interrupted(); ++round) {
    for (std::size_t i = 0; i < models.size(); ++i) take(i);
    for (std::size_t i = models.size(); i-- > 0;) take(i);
  }
}

void write(const path& file, const std::string& text) {
  AtomicFile out(file);
  out.write(text.data(), text.size());
  out.sync();
  out.rename();
}

}  // namespace

Ending bench(const BenchSettings& settings, Console& console) {
  std::unique_ptr<Accelerator> gpu;
  std::string trouble;
  if (!settings.models.empty() && settings.device != BenchSettings::Device::cpu) gpu = open_accelerator(trouble);
  if (!gpu && (settings.record || settings.device == BenchSettings::Device::cuda))
    throw EnvironmentError(fmt::format("no GPU can be used: {}", trouble));
  Pricing pricing({gpu != nullptr, settings.prices, settings.precision}, std::move(gpu), console);
  if (settings.imported) {
    const Source source = Source::read(settings.imported->string());
    const PriceDatabase taken = PriceDatabase::parse(source.text(), source.name());
    pricing.store().add(taken);
    pricing.save();
    for (const std::string& machine : taken.machines())
      console.say(Level::result,
                  fmt::format("{} prices of {}", with_commas(taken.size(machine)), on_one_line(machine)));
  }
  console.begin_log();
  bool agree = true;
  if (!settings.models.empty()) {
    std::vector<LoadedModel> models;
    for (const path& file : settings.models) models.push_back(load(file, settings));
    BenchReport report;
    report.precision = settings.precision;
    if (pricing.gpu() != nullptr) {
      run_on_gpu(pricing, models, settings, report);
    } else {
      if (!trouble.empty()) console.say(Level::result, fmt::format("no GPU can be used: {}", trouble));
      run_on_cpu(models, settings, report);
    }
    if (interrupted()) return Ending::interrupted;
    if (!settings.record) {
      for (const BenchFigures& one : report.models)
        if (!one.profile.empty())
          console.say(Level::result, fmt::format("{}\n{}", on_one_line(one.model.string()), profile_of(one)));
      console.say(Level::result, table_of(report));
      if (settings.json) write(*settings.json, json_of(report));
      for (const BenchFigures& one : report.models) agree = agree && one.agrees;
    }
  }
  if (settings.exported) write(*settings.exported, pricing.store().all().text());
  if (!agree) {
    console.error("an output on the GPU is not what the reference computes");
    return Ending::check_failed;
  }
  return Ending::done;
}

}  // namespace taso
