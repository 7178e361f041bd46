// A graph on a GPU: the best plan by the prices there, run exactly as it was priced.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cost/plan/plan.h"
#include "runtime/gpu/execution.h"
#include "runtime/pricing/pricing.h"

namespace taso::runtime {

class GpuModel {
 public:
  /// Measures the kernels, if the pricing measures, and chooses the plan. To price a network that runs alone, call
  /// Pricing::set_cache_residency() first. `sizes` gives dimensions that the inputs leave open. All arguments must
  /// outlive it; the pricing must have a GPU.
  GpuModel(const Graph& graph, pricing::Pricing& pricing, const cost::DimensionSizes& sizes = {});
  /// Loads it onto the GPU; call it before the functions below. Throws InputError if something cannot run. Kernels run
  /// concurrently in at most `most_lanes` streams, where that is faster. Weights that are `known` to be there are
  /// shared; those it brings are added to it.
  void prepare(std::uint32_t most_lanes = gpu::usual_lanes, gpu::DeviceMemory memory = {},
               gpu::KnownWeights* known = nullptr);

  std::vector<Array> run(const std::vector<Array>& inputs);
  /// Microseconds of each run.
  std::vector<double> time(std::size_t runs) { return program_->time(runs); }

  const Graph& graph() const { return graph_; }
  const cost::WholeGraph& view() const { return *view_; }
  const cost::Plan& plan() const { return plan_; }
  cost::Precision precision() const { return precision_; }
  gpu::DeviceProgram& program() const { return *program_; }
  /// The step of the plan for each step of the program; the final copies of outputs have none.
  const std::vector<std::size_t>& plan_steps() const { return plan_steps_; }
  /// The kinds of operators without a kernel, each once.
  const std::vector<std::string>& on_host() const { return on_host_; }
  std::int64_t arena_bytes() const { return arena_bytes_; }
  /// Of the plan's time.
  double measured_share() const;
  /// Of a run with this number of concurrent streams.
  cost::Cost predicted(std::uint32_t lanes) const;
  const Extents& output_extents(std::size_t index) const { return *view_->extents(view_->find(graph_.outputs[index])); }

 private:
  /// A kernel of our own that is probably fast, without trying any; empty if that cannot be said.
  std::string likely_choice(const cost::Call& call) const;
  /// Picks the most promising variant for steps without a choice, where that can be said.
  void choose_unmeasured(gpu::DeviceSteps& steps) const;

  const Graph& graph_;
  pricing::Pricing& pricing_;
  cost::Precision precision_;
  std::unique_ptr<cost::WholeGraph> view_;
  cost::Plan plan_;
  std::unique_ptr<gpu::DeviceProgram> program_;
  std::vector<std::string> on_host_;
  std::vector<std::size_t> plan_steps_;
  std::int64_t arena_bytes_ = 0;
  std::map<std::uint32_t, cost::Cost> predicted_;  // of the schedules, by number of streams
  cost::Cost predicted_alone_ = 0;                 // sequential
};

}  // namespace taso::runtime
