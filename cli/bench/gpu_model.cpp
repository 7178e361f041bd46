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

GpuModel::GpuModel(const Graph& graph, pricing::Pricing& pricing, const cost::DimensionSizes& sizes)
    : graph_(graph), pricing_(pricing) {
  pricing.measure_kernels(graph, sizes);
  for (const cost::Layout layout : {cost::Layout::channels_first, cost::Layout::channels_last}) {
    auto view = std::make_unique<cost::WholeGraph>(graph, sizes, layout);
    cost::Plan laid_out = cost::plan(*view, pricing.times());
    if (view_ && laid_out.cost >= plan_.cost) continue;
    view_ = std::move(view);
    plan_ = std::move(laid_out);
  }
}

void GpuModel::choose_unmeasured(gpu::DeviceSteps& steps) const {
  std::map<std::string, std::string> choices;  // by the text of the call
  std::vector<cost::Call> calls;
  for (const gpu::DeviceSteps::Step& step : steps.steps)
    if (!step.host && step.choice.empty() && choices.emplace(cost::text_of(step.call), "").second)
      calls.push_back(step.call);
  pricing_.gpu()->expect(calls);
  for (const cost::Call& call : calls)
    if (const std::vector<std::string> ways = pricing_.gpu()->ways(call, 1); !ways.empty())
      choices[cost::text_of(call)] = ways.front();
  for (gpu::DeviceSteps::Step& step : steps.steps)
    if (!step.host && step.choice.empty()) step.choice = choices.at(cost::text_of(step.call));
}

void GpuModel::prepare(std::uint32_t most_lanes) {
  gpu::Execution execution = gpu::make_execution(*view_, graph_, plan_, pricing_.times().precision(), most_lanes);
  for (const gpu::Schedule& schedule : execution.steps.schedules) predicted_[schedule.lanes] = schedule.expected;
  predicted_alone_ = gpu::one_after_the_other(execution.tasks).predicted;
  on_host_ = execution.on_host;
  plan_steps_ = execution.plan_steps;
  arena_bytes_ = execution.steps.arena_bytes;
  for (gpu::DeviceSteps::Step& step : execution.steps.steps)
    if (!step.host) step.choice = pricing_.choice_of(step.call);
  if (!pricing_.measures()) choose_unmeasured(execution.steps);
  program_ = pricing_.gpu()->load(std::move(execution.steps));
}

void GpuModel::describe(BenchFigures& figures) const {
  figures.predicted_alone = static_cast<double>(predicted_alone_) * 1e-6;
  figures.predicted = figures.predicted_alone;
  figures.lanes = program_->lanes();
  if (const auto found = predicted_.find(figures.lanes.lanes); found != predicted_.end())
    figures.predicted = static_cast<double>(found->second) * 1e-6;
  for (double* const time : {&figures.predicted_alone, &*figures.predicted}) *time += cost::h200::least_run * 1e-3;
  cost::Cost measured = 0;
  for (const cost::Plan::Step& step : plan_.steps)
    if (pricing_.times().measured(*view_, step.kernel)) measured += step.price;
  figures.measured_share = plan_.cost > 0 ? static_cast<double>(measured) / static_cast<double>(plan_.cost) : 1;
  figures.kernels = program_->launches();
  figures.device_bytes = program_->device_bytes();
  figures.arena_bytes = arena_bytes_;
  figures.layout = plan_.layout == cost::Layout::channels_last ? "channels last" : "channels first";
  figures.on_host = on_host_;
}

std::vector<Array> GpuModel::run(const std::vector<Array>& inputs) {
  const cost::Precision precision = pricing_.times().precision();
  std::vector<std::vector<std::byte>> bytes;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const bool is_used = view_->find(graph_.inputs[i]) != cost::no_plan_value;
    bytes.push_back(is_used ? gpu::to_device(inputs[i], precision) : std::vector<std::byte>());
  }
  const std::vector<std::span<const std::byte>> spans(bytes.begin(), bytes.end());
  const auto outputs = program_->run(spans);
  std::vector<Array> arrays;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const cost::PlanValue value = view_->find(graph_.outputs[i]);
    arrays.push_back(gpu::from_device(outputs[i], view_->element(value), *view_->extents(value), precision));
  }
  return arrays;
}

std::vector<BenchFigures::Kernel> GpuModel::profile() {
  const std::vector<double> measured = program_->profile();
  std::vector<BenchFigures::Kernel> kernels;
  for (std::size_t i = 0; i < measured.size(); ++i) {
    BenchFigures::Kernel kernel{"copy of an output", program_->choices()[i], 0, measured[i]};
    if (i < plan_steps_.size()) {
      const cost::Plan::Step& step = plan_.steps[plan_steps_[i]];
      kernel.operators = operators_of(step.kernel, *view_);
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
