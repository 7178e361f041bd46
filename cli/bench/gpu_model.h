// A graph on a GPU: its best plan by prices that are measured there, run as it was priced.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cli/bench/figures.h"
#include "cost/plan/plan.h"
#include "ops/core/random.h"
#include "runtime/gpu/execution.h"
#include "runtime/pricing/pricing.h"

namespace taso::cli {

class GpuModel {
 public:
  /// Chooses the plan, for which kernels are measured, by the prices as they are: who runs a network alone suits them to it
  /// first. `sizes` are of dimensions that the inputs leave open. All must outlive it; the pricing has a GPU.
  GpuModel(const Graph& graph, pricing::Pricing& pricing, const cost::DimensionSizes& sizes = {});
  /// Puts it on the GPU; to be done before all that follows. Throws InputError where something cannot be run.
  /// Kernels run side by side in at most so many lanes, where that is faster.
  void prepare(std::uint32_t most_lanes = gpu::usual_lanes);

  /// What is known of it without running it.
  void describe(BenchFigures& figures) const;
  std::vector<Array> run(const std::vector<Array>& inputs);
  /// Microseconds of each run.
  std::vector<double> time(std::size_t runs) { return program_->time(runs); }
  std::vector<BenchFigures::Kernel> profile();

 private:
  /// For steps without a choice the most promising way.
  void choose_unmeasured(gpu::DeviceSteps& steps) const;

  const Graph& graph_;
  pricing::Pricing& pricing_;
  std::unique_ptr<cost::WholeGraph> view_;
  cost::Plan plan_;
  std::unique_ptr<gpu::DeviceProgram> program_;
  std::vector<std::string> on_host_;
  std::vector<std::size_t> plan_steps_;
  std::int64_t arena_bytes_ = 0;
  std::map<std::uint32_t, cost::Cost> predicted_;  ///< of schedules, by lanes
  cost::Cost predicted_alone_ = 0;                 ///< one step after the other
};

/// To and fro between the models, so that a machine that gets warmer or slower in the meantime does so for all. As many runs
/// of each as were asked for, or some more. Ends early when interrupted.
std::vector<std::vector<double>> time_in_turn(const std::vector<GpuModel*>& models, std::size_t runs);

/// Moderate numbers.
Array random_input(Random& random, ElementType element, const Extents& extents);

}  // namespace taso::cli
