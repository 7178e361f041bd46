// Which results of a program are out of the range of a small type: why rounding alone takes its outputs far away.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "cost/pricing/precision.h"
#include "ops/graph/graph.h"
#include "runtime/host/interpreter.h"

namespace taso::cli {

/// What values are called in a model.
using ValueNames = std::unordered_map<Value, std::string, HashValue>;

/// Says how many results have elements beyond the largest number of the precision, and how many of them vanish below its
/// smallest, with the first of each. Empty if none does, and for precisions with the range of float32. Throws InputError
/// where the program cannot run.
std::string range_trouble(const Graph& graph, const std::vector<Array>& inputs, cost::Precision precision,
                          const ValueNames& names, const runtime::InterpreterOptions& options);

}  // namespace taso::cli
