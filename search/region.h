// A part of a program as a graph of its own, which is searched apart from the rest: what comes in from outside is an input,
// what is used outside an output.
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
  Surroundings surroundings;  ///< what is around it, so that kernels that reach across the border are seen
  /// The values of the program that the graph's values stand for.
  std::unordered_map<Value, ValueId, HashValue> values;
  /// Everything that the search of it depends on: regions with one key are solved alike.
  std::string key;
};

/// The place of each computation in Program::computations().
using Ranks = std::vector<std::uint32_t>;
Ranks ranks_of(const Program& program);

/// The region that these computations make up, with what they need that depends on constants only.
Region region_of(const Program& program, const Prices& prices, const Ranks& ranks,
                 const std::vector<ComputationId>& computations);

/// A rewrite of the program, as it was made.
struct Applied {
  std::shared_ptr<const Match> match;
  Program::Log log;
  std::vector<std::vector<ValueId>> made;  ///< by the nodes of the target
  GraphCost before, after;
};

/// How the steps that were found for a region are priced in the program. `each`: one by one; they are applied up to where
/// the program costs least. `together`: all at once, which is faster; all are applied or none, and every step but the
/// last is recorded with what it saved in the region.
enum class StepPrices : std::uint8_t { each, together };

/// Applies to the program what was found for the region, or for one with the same key, and appends that to `applied`.
/// Steps that are impossible there, or no improvement, are left out. `cost` is the program's.
void transfer(Exploration& solved, const Graph& solved_graph, const Region& region, StepPrices step_prices,
              Program& program, Prices& prices, GraphCost& cost, std::vector<Applied>& applied);

}  // namespace taso::search
