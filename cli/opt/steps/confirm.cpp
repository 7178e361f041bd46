#include <fmt/format.h>

#include "cli/bench/gpu_model.h"
#include "cli/console/interrupt.h"
#include "cli/opt/steps/steps.h"
#include "ops/core/error.h"

namespace taso::cli {
namespace {

using Times = std::vector<std::vector<double>>;

/// Times of both models, run alternately; empty if interrupted.
Times run_in_turn(const Task& task, const Graph& before, const Graph& after) {
  constexpr std::size_t runs = 200;
  GpuModel first(before, task.pricing, pricing::sizes_from(before, task.shapes)),
      second(after, task.pricing, pricing::sizes_from(after, task.shapes));
  for (GpuModel* const model : {&first, &second}) {
    if (interrupted()) return Times(2);
    model->prepare(task.options.pricing.lanes);
  }
  return time_in_turn({&first, &second}, runs);
}

}  // namespace

Candidate confirm(const Task& task, Candidate found) {
  if (!task.options.confirm || !found.is_improved()) return found;
  task.phases.begin("confirm", "running both models on the GPU");
  onnx::GraphEdit plain(task.model);
  onnx::clean_up(plain, clean_ups_of(task.options));
  Times times(2);
  try {
    if (!interrupted()) times = run_in_turn(task, plain.imported()->graph, found.edit->imported()->graph);
  } catch (const InputError& error) {
    return give_up(task, found, fmt::format("cannot confirm that it is faster: {}", error.what()));
  }
  if (times[0].empty() || times[1].empty()) {
    found.search->unconfirmed = "interrupted";
    return found;
  }
  const Ratio ratio = ratio_of(times[0], times[1]);
  if (!ratio.is_faster() && interrupted()) {
    found.search->unconfirmed = "interrupted before the result was certain";
    return found;
  }
  found.confirmed = ratio;
  if (ratio.is_faster()) return found;
  return give_up(task, found,
                 fmt::format("on the GPU it is {:.3f} times as fast ({:.3f} to {:.3f}), so not faster", ratio.value,
                             ratio.low, ratio.high));
}

}  // namespace taso::cli
