// Finds results out of the range of a small type: they explain why rounding alone takes outputs far off.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "cost/pricing/precision.h"
#include "ops/graph/graph.h"
#include "runtime/host/interpreter.h"

namespace taso::cli {

/// The names of values in a model.
using ValueNames = std::unordered_map<Value, std::string, HashValue>;

/// Counts the results with elements above the largest number of the precision, and those that mostly vanish below its
/// smallest, and names the first of each. Empty if there are none, and for precisions with the range of float32. Throws
/// InputError if the program cannot run.
std::string range_trouble(const Graph& graph, const std::vector<Array>& inputs, cost::Precision precision,
                          const ValueNames& names, const runtime::InterpreterOptions& options);

}  // namespace taso::cli
