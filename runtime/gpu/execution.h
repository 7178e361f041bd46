// Prepares a plan for a device: every step with its memory, and the weights in the layouts that the steps expect.
#pragma once

#include "cost/plan/plan.h"
#include "runtime/gpu/accelerator.h"
#include "runtime/gpu/known_weights.h"

namespace taso::gpu {

/// More concurrent streams gain little: even the smallest kernels fill a part of the GPU.
inline constexpr std::uint32_t usual_lanes = 16;

struct Execution {
  DeviceSteps steps;
  std::vector<Task> tasks;  ///< the steps as seen by their schedules
  std::vector<std::size_t>
      plan_steps;                    ///< the step of the plan for each of them; the final copies of outputs have none
  std::vector<std::string> on_host;  ///< the kinds of operators without a kernel, each once
  std::vector<KnownWeights::Placed> new_weights;  ///< those in `steps.weights`
};

/// All sizes must be known, or follow from the sizes of inputs, which the view knows. Reads the weights, and computes
/// what depends on weights only. Throws InputError if something cannot run: an unknown size, or an operator that the
/// interpreter lacks. Independent steps may run concurrently in at most `most_lanes` streams. Weights that are `known`
/// to be on the device are not read again.
Execution make_execution(const cost::WholeGraph& view, const Graph& graph, const cost::Plan& plan,
                         cost::Precision precision, std::uint32_t most_lanes = usual_lanes,
                         const KnownWeights* known = nullptr);

/// The predicted time of a plan with concurrent steps, and the number of streams. `Plan::cost` is the sequential time.
/// Copies of outputs, which a plan does not contain, count here.
struct Outlook {
  std::uint32_t lanes = 1;
  cost::Cost cost = 0;
  cost::Cost sequential = 0;  ///< the sequential time
  cost::Cost copies = 0;      ///< of outputs, sequential
};
/// Does not read weights. Unknown dimensions have the sizes assumed by the view. Throws InputError if a rank is
/// unknown.
Outlook look_ahead(const cost::WholeGraph& view, const Graph& graph, const cost::Plan& plan, cost::Precision precision,
                   std::uint32_t most_lanes = usual_lanes);

/// When and where the steps of a plan run, as look_ahead() predicts: in the streams of the best schedule, or one after
/// the other. Steps that do nothing take no time.
struct Timeline {
  std::vector<Span> steps;   ///< of the plan
  std::vector<Span> copies;  ///< of outputs, which a plan does not contain
};
/// Throws InputError like look_ahead().
Timeline timeline_of(const cost::WholeGraph& view, const Graph& graph, const cost::Plan& plan,
                     cost::Precision precision, std::uint32_t most_lanes = usual_lanes);

/// Converts an input to its bytes on the device, and an output back. The element type is the stored one; the order is
/// row-major.
std::vector<std::byte> to_device(const Array& array, cost::Precision precision);
Array from_device(std::span<const std::byte> bytes, ElementType element, const Extents& extents,
                  cost::Precision precision);

}  // namespace taso::gpu
