// Rounds on the CPU as a device does in a given precision, to show how far rounding alone takes a model's outputs.
#pragma once

#include "cost/pricing/precision.h"
#include "ops/graph/graph.h"

namespace taso::cli {

/// Rounds to the nearest number of the precision, ties to even. Larger numbers become infinite; NaN stays NaN.
float rounded(float value, cost::Precision precision);
/// Rounds every element of a float32 array; other arrays stay unchanged.
Array rounded(const Array& array, cost::Precision precision);

/// The program with every operand of a product rounded, weights included. Values stored between other operators are not
/// rounded: how much is stored depends on how operators are fused into kernels.
Graph with_rounded_products(const Graph& graph, cost::Precision precision);

}  // namespace taso::cli
