// A plan made ready for a device: every step with the memory that it works on, and the weights laid out as the steps want them.
#pragma once

#include "cost/plan/plan.h"
#include "runtime/gpu/accelerator.h"

namespace taso::gpu {

/// More kernels than this side by side gain little: even the smallest fill some of the GPU.
inline constexpr std::uint32_t usual_lanes = 16;

struct Execution {
  DeviceSteps steps;
  std::vector<Task> tasks;  ///< the steps, as their schedules have them
  std::vector<std::size_t>
      plan_steps;                    ///< which step of the plan each of them is; copies of outputs at the end have none
  std::vector<std::string> on_host;  ///< the kinds of operators that have no kernel, each once
};

/// All sizes must be known, or follow from those of inputs, for which the view has numbers. Reads the weights, and computes
/// what depends on them alone. Throws InputError where something cannot be run: a size that is not known, an operator that the
/// interpreter does not have. With at most so many lanes, in which steps may run side by side.
Execution make_execution(const cost::WholeGraph& view, const Graph& graph, const cost::Plan& plan,
                         cost::Precision precision, std::uint32_t most_lanes = usual_lanes);

/// How long a plan is expected to take with its steps side by side, and in how many lanes. `Plan::cost` is one after the other;
/// copies of outputs, which no plan has, count here.
struct Outlook {
  std::uint32_t lanes = 1;
  cost::Cost cost = 0;
  cost::Cost in_a_row = 0;  ///< what it takes one step after the other
  cost::Cost copies = 0;    ///< of outputs, in a row
};
/// Does not read weights. Unknown dimensions are what the view prices them as. Throws InputError where a rank is not known.
Outlook look_ahead(const cost::WholeGraph& view, const Graph& graph, const cost::Plan& plan, cost::Precision precision,
                   std::uint32_t most_lanes = usual_lanes);

/// An input or output as the device has it, and back. The element type is the one stored; bytes are row by row.
std::vector<std::byte> to_device(const Array& array, cost::Precision precision);
Array from_device(std::span<const std::byte> bytes, ElementType element, const Extents& extents,
                  cost::Precision precision);

}  // namespace taso::gpu
