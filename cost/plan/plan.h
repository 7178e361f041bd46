// A graph mapped to kernels: what runs, in which order, at what predicted cost, and where each value lies.
#pragma once

#include <string>
#include <vector>

#include "cost/plan/fusion.h"
#include "cost/plan/memory_plan.h"
#include "cost/plan/movement.h"

namespace taso::cost {

struct Plan {
  struct Step {
    Kernel kernel;  ///< its nodes are topologically sorted; empty for a conversion
    Cost price = 0;
    Cost price_again = 0;  ///< right after the same kernel; not in `cost`, because a search cannot add it up
  };
  /// The memory of a value: a buffer, an offset and strides.
  struct Place {
    PlanValue value{};
    std::size_t buffer = 0;
    std::int64_t offset = 0;  ///< in the buffer
    Strides strides;          ///< in elements
  };
  std::vector<Step> steps;  ///< in the order in which they run
  Cost cost = 0;            ///< of all steps
  std::vector<Buffer> buffers;
  std::vector<Place> places;     ///< of the values computed at run time, in order of values
  std::vector<Place> converted;  ///< of copies of these values and of inputs in the other layout
  std::int64_t arena_bytes = 0;  ///< for everything that is computed; the caller owns inputs and weights

  Layout layout = Layout::channels_first;
  std::size_t launches() const { return steps.size(); }
};

/// The value that owns the memory of a value, and the byte offset in it. A view of an input is owned by the input.
struct Storage {
  PlanValue owner{};
  std::int64_t offset = 0;
};
Storage storage_of(const WholeGraph& view, PlanValue value);

/// The kernels of a plan, which do not depend on prices: those that compute, then those that convert a value to the
/// other layout.
std::vector<Kernel> kernels_of(const WholeGraph& view);

/// The plan numbers nodes and values as the view does.
Plan plan(const WholeGraph& view, const KernelPrices& prices);
Plan plan(const Graph& graph, const KernelPrices& prices, const PlanOptions& options = {});
/// The cheaper of the plans in both layouts.
Plan best_plan(const Graph& graph, const KernelPrices& prices, const DimensionSizes& sizes = {});
/// The layout of that plan, found without planning memory.
Layout best_layout(const Graph& graph, const KernelPrices& prices, const DimensionSizes& sizes = {},
                   unsigned threads = 1);

/// The part of a plan that only corrects values (cover.h): kernels whose results only corrections need, and the kernels
/// that copy corrections into place.
struct Corrections {
  std::vector<std::size_t> steps;  ///< of the plan, rising
  Cost cost = 0;                   ///< of these
};
Corrections corrections_of(const WholeGraph& view, const Plan& plan);

/// One line per kernel, for people and tests: price, kind, operators.
std::string text_of(const Plan& plan, const WholeGraph& view);

}  // namespace taso::cost
