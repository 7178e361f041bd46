// A graph on a GPU: the best plan by prices measured there, run exactly as it was priced.
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
  /// Measures the kernels and chooses the plan. To price a network that runs alone, call Pricing::set_cache_residency()
  /// first. `sizes` gives dimensions that the inputs leave open. All arguments must outlive it; the pricing must have a
  /// GPU.
  GpuModel(const Graph& graph, pricing::Pricing& pricing, const cost::DimensionSizes& sizes = {});
  /// Loads it onto the GPU; call it before the functions below. Throws InputError if something cannot run. Kernels run
  /// concurrently in at most `most_lanes` streams, where that is faster.
  void prepare(std::uint32_t most_lanes = gpu::usual_lanes);

  /// Fills in what is known without running it.
  void describe(BenchFigures& figures) const;
  std::vector<Array> run(const std::vector<Array>& inputs);
  /// Microseconds of each run.
  std::vector<double> time(std::size_t runs) { return program_->time(runs); }
  std::vector<BenchFigures::Kernel> profile();

 private:
  /// Picks the most promising variant for steps without a choice.
  void choose_unmeasured(gpu::DeviceSteps& steps) const;

  const Graph& graph_;
  pricing::Pricing& pricing_;
  std::unique_ptr<cost::WholeGraph> view_;
  cost::Plan plan_;
  std::unique_ptr<gpu::DeviceProgram> program_;
  std::vector<std::string> on_host_;
  std::vector<std::size_t> plan_steps_;
  std::int64_t arena_bytes_ = 0;
  std::map<std::uint32_t, cost::Cost> predicted_;  ///< of the schedules, by number of streams
  cost::Cost predicted_alone_ = 0;                 ///< sequential
};

/// Times the models alternately (A B B A), so that a machine that slows down slows down for all. Each model runs at
/// least `runs` times. Ends early when interrupted.
std::vector<std::vector<double>> time_in_turn(const std::vector<GpuModel*>& models, std::size_t runs);

/// Numbers of moderate size.
Array random_input(Random& random, ElementType element, const Extents& extents);

}  // namespace taso::cli
