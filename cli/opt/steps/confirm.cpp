#include <fmt/format.h>

#include "cli/bench/gpu_model.h"
#include "cli/console/interrupt.h"
#include "cli/opt/steps/steps.h"
#include "ops/core/error.h"

namespace taso::cli {
namespace {

using Times = std::vector<std::vector<double>>;

/// Times of both models, run alternately; empty if interrupted.
Times run_in_turn(const OptRun& run, const Graph& before, const Graph& after) {
  constexpr std::size_t runs = 200;
  GpuModel first(before, run.pricing, pricing::sizes_from(before, run.shapes)),
      second(after, run.pricing, pricing::sizes_from(after, run.shapes));
  for (GpuModel* const model : {&first, &second}) {
    if (interrupted()) return Times(2);
    model->prepare(run.options.pricing.lanes);
  }
  return time_in_turn({&first, &second}, runs);
}

}  // namespace

Candidate confirm(const OptRun& run, Candidate found) {
  if (run.options.is_for_onnxruntime()) return confirm_in_runtime(run, std::move(found));
  if (!run.options.confirm || !found.is_improved()) return found;
  run.phases.begin("confirm", "running both models on the GPU");
  onnx::GraphEdit plain(run.model);
  onnx::clean_up(plain, clean_ups_of(run.options));
  Times times(2);
  try {
    if (!interrupted()) times = run_in_turn(run, plain.imported()->graph, found.edit->imported()->graph);
  } catch (const InputError& error) {
    return give_up(run, found, fmt::format("cannot confirm that it is faster: {}", error.what()));
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
  return give_up(run, found,
                 fmt::format("on the GPU it is {:.3f} times as fast ({:.3f} to {:.3f}), so not faster", ratio.value,
                             ratio.low, ratio.high));
}

}  // namespace taso::cli
