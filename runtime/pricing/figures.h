// What a model is expected to cost: its graph laid onto kernels, in numbers.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cost/plan/graph_view.h"
#include "cost/plan/objective.h"
#include "ops/core/array.h"
#include "runtime/pricing/pricing.h"

namespace taso::pricing {

struct Figures {
  cost::Layout layout = cost::Layout::channels_first;  ///< in which it is fastest
  double seconds = 0;           ///< predicted: of all kernels and copies of outputs, one after the other
  double copying = 0;           ///< the seconds among them of copies of outputs; 0 if sizes are not known
  double seconds_in_lanes = 0;  ///< predicted with kernels side by side; 0 if sizes are not known
  std::uint32_t lanes = 1;      ///< how many of them, at most
  std::string no_lanes = {};    ///< why that is not known; empty if it is
  double measured = 0;          ///< the seconds among them of kernels that were measured
  std::size_t launches = 0;
  /// Operators that compute weights at run time, which a plan takes to be done ahead.
  std::size_t work_on_weights = 0;
  double bytes_moved = 0;       ///< read and written by all kernels, weights included
  std::int64_t peak_bytes = 0;  ///< of activations; inputs and weights are the caller's

  double of(cost::Objective objective) const;
};

/// Of the plan that is run: the fastest, whatever is looked for, in the better of both layouts.
Figures figures_of(const Graph& graph, const cost::DimensionSizes& sizes, const Pricing& pricing);

/// The sizes of unknown dimensions that these shapes of the graph's inputs tell; all others are 1.
cost::DimensionSizes sizes_from(const Graph& graph, const std::map<std::string, Extents>& shapes);

/// What is priced with sizes that nobody has said.
struct AssumedSizes {
  std::vector<std::pair<std::string, Extents>>
      inputs;                ///< those with dimensions left open, and what they are priced as
  std::size_t inside = 0;    ///< dimensions inside that no input tells, priced as 1
  std::size_t unranked = 0;  ///< values inside of which nothing is known, priced as nothing
  bool empty() const { return inputs.empty() && inside == 0 && unranked == 0; }
};
AssumedSizes assumed_sizes(const Graph& graph, const std::map<std::string, Extents>& shapes);

}  // namespace taso::pricing
