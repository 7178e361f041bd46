// What taso-bench tells and does with a model on a GPU.
#pragma once

#include <vector>

#include "cli/bench/figures.h"
#include "ops/core/random.h"
#include "runtime/session/gpu_model.h"

namespace taso::cli {

using runtime::GpuModel;

/// Fills in what is known without running it.
void describe(const GpuModel& model, BenchFigures& figures);
/// Its kernels, with their times in a sequential run.
std::vector<BenchFigures::Kernel> profile(const GpuModel& model);

/// Times the models alternately (A B B A), so that a machine that slows down slows down for all. Each model runs at
/// least `runs` times. Ends early when interrupted.
std::vector<std::vector<double>> time_in_turn(const std::vector<GpuModel*>& models, std::size_t runs);

/// Numbers of moderate size.
Array random_input(Random& random, ElementType element, const Extents& extents);

}  // namespace taso::cli
