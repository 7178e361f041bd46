// A part of a program as a separate graph, which is searched by itself: values from outside are inputs, values used
// outside are outputs.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "search/exploration.h"

namespace taso::search {

struct Region {
  Graph graph;
  Surroundings surroundings;  ///< the surroundings, so that kernels that cross the border are seen
  /// The program's values for the values of the graph.
  std::unordered_map<Value, ValueId, HashValue> values;
  /// Everything that its search depends on: regions with the same key have the same solution.
  std::string key;
};

/// The position of each computation in Program::computations().
using Ranks = std::vector<std::uint32_t>;
Ranks ranks_of(const Program& program);

/// The region of these computations, with the computations they need that depend on constants only.
Region region_of(const Program& program, const Prices& prices, const Ranks& ranks,
                 const std::vector<ComputationId>& computations);

/// An applied rewrite of the program.
struct Applied {
  std::shared_ptr<const Match> match;
  Program::Log log;
  std::vector<std::vector<ValueId>> made;  ///< by node of the target
  GraphCost before, after;
};

/// How the steps found for a region are priced in the program. `each`: one by one; steps are applied up to where the
/// program costs least. `together`: all at once, which is faster; all steps are applied or none, and every step but the
/// last is recorded with its saving in the region.
enum class StepPrices : std::uint8_t { each, together };

/// Applies the steps found for the region, or for one with the same key, to the program, and appends them to `applied`.
/// Leaves out steps that are impossible there or no improvement. `cost` is that of the program.
void transfer(SolvedRegion& solved, const Graph& solved_graph, const Region& region, StepPrices step_prices,
              Program& program, Prices& prices, GraphCost& cost, std::vector<Applied>& applied);

}  // namespace taso::search
