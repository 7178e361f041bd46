// What a precision rounds on a device, done on the CPU: it shows how far rounding alone takes a model's outputs.
#pragma once

#include "cost/pricing/precision.h"
#include "ops/graph/graph.h"

namespace taso::cli {

/// The nearest number that the precision has, of two that are equally near the even one. What is beyond its largest becomes
/// infinite; NaN stays one.
float rounded(float value, cost::Precision precision);
/// Every element of float32; arrays of other types are as they were.
Array rounded(const Array& array, cost::Precision precision);

/// The program with every operand of a product rounded, weights or not. Of what the small types store between other
/// operators nothing is rounded: how much of it is stored depends on how kernels are put together.
Graph with_rounded_products(const Graph& graph, cost::Precision precision);

}  // namespace taso::cli
