// The predicted cost of a model in numbers: time, launches and memory of its plan.
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
  cost::Layout layout = cost::Layout::channels_first;  ///< the faster layout
  double seconds = 0;                                  ///< predicted: all kernels and copies of outputs, sequential
  double copying = 0;             ///< the part of that for copies of outputs; 0 if sizes are not known
  double concurrent_seconds = 0;  ///< predicted with concurrent kernels; 0 if sizes are not known
  std::uint32_t lanes = 1;        ///< the number of streams
  std::string no_lanes = {};      ///< why the concurrent time is not known; empty if it is
  double measured = 0;            ///< the part of `seconds` for measured kernels
  std::size_t launches = 0;
  /// Operators that compute weights at run time; the plan assumes that they run ahead of time.
  std::size_t work_on_weights = 0;
  /// Operators that taso does not model and that need work at run time.
  struct OpaqueWork {
    std::uint64_t serial = 0;    ///< of the node, see ops::Opaque
    double seconds = 0;          ///< predicted
    std::string no_kernel = {};  ///< why the host computes it; empty if the GPU has a kernel
  };
  std::vector<OpaqueWork> opaque = {};
  double bytes_moved = 0;       ///< read and written by all kernels, including weights
  std::int64_t peak_bytes = 0;  ///< of activations; inputs and weights belong to the caller

  double of(cost::Objective objective) const;
};

/// Why the host computes the kernel; empty if the GPU does.
std::string why_on_host(const cost::GraphView& view, const cost::Kernel& kernel);

/// The figures of the plan that would run: the fastest in either layout, whatever the objective.
Figures figures_of(const Graph& graph, const cost::DimensionSizes& sizes, const Pricing& pricing);

/// The sizes of unknown dimensions that these input shapes determine; all others are 1.
cost::DimensionSizes sizes_from(const Graph& graph, const std::map<std::string, Extents>& shapes);

/// Sizes that prices assume because they are not known.
struct AssumedSizes {
  std::vector<std::pair<std::string, Extents>>
      inputs;                ///< inputs with unknown dimensions, and the shapes they are priced with
  std::size_t inside = 0;    ///< inner dimensions that no input determines, priced as 1
  std::size_t unranked = 0;  ///< values of unknown rank, priced as 0
  bool empty() const { return inputs.empty() && inside == 0 && unranked == 0; }
};
AssumedSizes assumed_sizes(const Graph& graph, const std::map<std::string, Extents>& shapes);

}  // namespace taso::pricing
