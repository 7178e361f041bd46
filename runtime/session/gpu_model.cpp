#include "runtime/session/gpu_model.h"

namespace taso::runtime {

GpuModel::GpuModel(const Graph& graph, pricing::Pricing& pricing, const cost::DimensionSizes& sizes)
    : graph_(graph), pricing_(pricing), precision_(pricing.times().precision()) {
  pricing.measure_kernels(graph, sizes);
  for (const cost::Layout layout : {cost::Layout::channels_first, cost::Layout::channels_last}) {
    auto view = std::make_unique<cost::WholeGraph>(graph, sizes, layout);
    cost::Plan laid_out = cost::plan(*view, pricing.times());
    if (view_ && laid_out.cost >= plan_.cost) continue;
    view_ = std::move(view);
    plan_ = std::move(laid_out);
  }
}

std::string GpuModel::likely_choice(const cost::Call& call) const {
  constexpr int with_clusters = 90;  // needed by our own kernels for products
  const std::vector<gpu::Lowering> all = gpu::lowerings(call);
  std::vector<std::string> own;
  for (const gpu::Lowering& lowering : all)
    if (gpu::is_own(lowering) && lowering.launches.size() == 1) own.push_back(lowering.name);
  const bool is_all_own = own.size() == all.size();
  if (own.empty() || (!is_all_own && pricing_.gpu()->capability() < with_clusters)) return "";
  if (std::string choice = pricing_.similar_choice(call, own); !choice.empty()) return choice;
  return is_all_own ? own.front() + ": own" : "";
}

void GpuModel::choose_unmeasured(gpu::DeviceSteps& steps) const {
  std::map<std::string, std::string> choices;  // by the text of the call
  for (gpu::DeviceSteps::Step& step : steps.steps) {
    if (step.host || !step.choice.empty()) continue;
    const auto [place, is_new] = choices.emplace(cost::text_of(step.call), "");
    if (is_new) place->second = likely_choice(step.call);
    step.choice = place->second;
  }
  steps.chooses_briefly = true;
}

void GpuModel::prepare(std::uint32_t most_lanes, gpu::DeviceMemory memory, gpu::KnownWeights* known) {
  gpu::Execution execution = gpu::make_execution(*view_, graph_, plan_, precision_, most_lanes, known);
  for (const gpu::Schedule& schedule : execution.steps.schedules) predicted_[schedule.lanes] = schedule.expected;
  predicted_alone_ = gpu::one_after_the_other(execution.tasks).predicted;
  on_host_ = execution.on_host;
  plan_steps_ = execution.plan_steps;
  arena_bytes_ = execution.steps.arena_bytes;
  for (gpu::DeviceSteps::Step& step : execution.steps.steps)
    if (!step.host) step.choice = pricing_.choice_of(step.call);
  if (!pricing_.measures()) choose_unmeasured(execution.steps);
  execution.steps.memory = std::move(memory);
  program_ = pricing_.gpu()->load(std::move(execution.steps));
  if (known != nullptr) known->add(graph_.pool, execution.new_weights, program_->weights());
}

double GpuModel::measured_share() const {
  cost::Cost measured = 0;
  for (const cost::Plan::Step& step : plan_.steps)
    if (pricing_.times().measured(*view_, step.kernel)) measured += step.price;
  return plan_.cost > 0 ? static_cast<double>(measured) / static_cast<double>(plan_.cost) : 1;
}

cost::Cost GpuModel::predicted(std::uint32_t lanes) const {
  const auto found = predicted_.find(lanes);
  return found == predicted_.end() ? predicted_alone_ : found->second;
}

std::vector<Array> GpuModel::run(const std::vector<Array>& inputs) {
  std::vector<std::vector<std::byte>> bytes;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const bool is_used = view_->find(graph_.inputs[i]) != cost::no_plan_value;
    bytes.push_back(is_used ? gpu::to_device(inputs[i], precision_) : std::vector<std::byte>());
  }
  const std::vector<std::span<const std::byte>> spans(bytes.begin(), bytes.end());
  const auto outputs = program_->run(spans);
  std::vector<Array> arrays;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const cost::PlanValue value = view_->find(graph_.outputs[i]);
    arrays.push_back(gpu::from_device(outputs[i], view_->element(value), output_extents(i), precision_));
  }
  return arrays;
}

}  // namespace taso::runtime
