// A graph laid onto kernels: what runs, in which order, what it is expected to take, and where each value lies.
#pragma once

#include <string>
#include <vector>

#include "cost/plan/fusion.h"
#include "cost/plan/memory_plan.h"
#include "cost/plan/movement.h"

namespace taso::cost {

struct Plan {
  struct Step {
    Kernel kernel;  ///< its nodes are in an order in which they can be done; none for a conversion
    Cost price = 0;
    Cost price_again = 0;  ///< right behind the same kernel; no sum of a plan has it, for a search could not add it up
  };
  /// Where a value that is needed lies: in a buffer, from an offset on, with such distances between its elements.
  struct Place {
    PlanValue value{};
    std::size_t buffer = 0;
    std::int64_t offset = 0;  ///< in the buffer
    Strides strides;          ///< in elements
  };
  std::vector<Step> steps;  ///< in the order in which they run
  Cost cost = 0;            ///< of all steps
  std::vector<Buffer> buffers;
  std::vector<Place> places;     ///< of values that are computed at run time, in order of values
  std::vector<Place> converted;  ///< of their copies in the other layout, and of inputs', where somebody needs those
  std::int64_t arena_bytes = 0;  ///< for everything that is computed; inputs and weights are the caller's

  Layout layout = Layout::channels_first;
  std::size_t launches() const { return steps.size(); }
};

/// Whose memory a value lies in, and from which byte on. The owner of a view of an input is the input.
struct Storage {
  PlanValue owner{};
  std::int64_t offset = 0;
};
Storage storage_of(const WholeGraph& view, PlanValue value);

/// The numbers of nodes and values in the plan are those of the view.
Plan plan(const WholeGraph& view, const KernelPrices& prices);
Plan plan(const Graph& graph, const KernelPrices& prices, const PlanOptions& options = {});
/// The better one of both layouts.
Plan best_plan(const Graph& graph, const KernelPrices& prices, const DimensionSizes& sizes = {});

/// One line a kernel, for people and tests: price, kind, operators.
std::string text_of(const Plan& plan, const WholeGraph& view);

}  // namespace taso::cost
