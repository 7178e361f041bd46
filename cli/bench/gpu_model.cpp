#include "cli/bench/gpu_model.h"

#include <algorithm>

#include "cli/bench/settings.h"
#include "cli/console/interrupt.h"
#include "cost/pricing/h200.h"

namespace taso::cli {
namespace {

std::string operators_of(const cost::Kernel& kernel, const cost::WholeGraph& view) {
  if (kernel.nodes.empty()) return "layout";
  std::string text;
  for (const cost::PlanNode node : kernel.nodes) {
    if (!text.empty()) text += " ";
    text += view.op(node) ? ops::name_of(*view.op(node)) : std::string_view(view.node(node).as_opaque()->kind);
  }
  return text;
}

}  // namespace

void describe(const GpuModel& model, BenchFigures& figures) {
  const gpu::DeviceProgram& program = model.program();
  const auto microseconds = [](cost::Cost cost) {
    return static_cast<double>(cost) * 1e-6 + cost::h200::least_run * 1e-3;
  };
  figures.lanes = program.lanes();
  figures.predicted_alone = microseconds(model.predicted(1));
  figures.predicted = microseconds(model.predicted(figures.lanes.lanes));
  figures.measured_share = model.measured_share();
  figures.kernels = program.launches();
  figures.device_bytes = program.device_bytes();
  figures.arena_bytes = model.arena_bytes();
  figures.layout = model.plan().layout == cost::Layout::channels_last ? "channels last" : "channels first";
  figures.on_host = model.on_host();
}

std::vector<BenchFigures::Kernel> profile(const GpuModel& model) {
  const std::vector<double> measured = model.program().profile();
  std::vector<BenchFigures::Kernel> kernels;
  for (std::size_t i = 0; i < measured.size(); ++i) {
    BenchFigures::Kernel kernel{"copy of an output", model.program().choices()[i], 0, measured[i]};
    if (i < model.plan_steps().size()) {
      const cost::Plan::Step& step = model.plan().steps[model.plan_steps()[i]];
      kernel.operators = operators_of(step.kernel, model.view());
      kernel.predicted = static_cast<double>(step.price) * 1e-6;
    }
    kernels.push_back(std::move(kernel));
  }
  return kernels;
}

std::vector<std::vector<double>> time_in_turn(const std::vector<GpuModel*>& models, std::size_t runs) {
  const std::size_t at_a_time = std::max<std::size_t>(1, (runs + 2 * gpu_rounds - 1) / (2 * gpu_rounds));
  std::vector<std::vector<double>> times(models.size());
  const auto take = [&](std::size_t i) {
    const std::vector<double> more = models[i]->time(at_a_time);
    times[i].insert(times[i].end(), more.begin(), more.end());
  };
  for (GpuModel* model : models) model->time(at_a_time);  // warm-up
  for (std::size_t round = 0; round < gpu_rounds && !interrupted(); ++round) {
    for (std::size_t i = 0; i < models.size(); ++i) take(i);
    for (std::size_t i = models.size(); i-- > 0;) take(i);
  }
  return times;
}

Array random_input(Random& random, ElementType element, const Extents& extents) {
  Array doubles(ElementType::float64, extents);
  const bool floating = is_floating(element);
  for (double& value : doubles.mutable_values<double>())
    value = floating ? random.unit() * 2 - 1 : static_cast<double>(random.below(2));
  return doubles.cast(element);
}

}  // namespace taso::cli
