// Decides whether the weights of a network stay in the cache of a GPU between runs. If they do, its kernels take less
// time than those of a large network, whose weights come from memory in every run.
#pragma once

#include "cost/plan/graph_view.h"
#include "cost/plan/kernel.h"
#include "cost/pricing/precision.h"

namespace taso::cost {

/// The bytes of everything constant that the kernels read, each value once.
double weight_bytes_of(const Graph& graph, const DimensionSizes& sizes, Precision precision);

/// Ask this once per network, not per graph of a search: two graphs are comparable only with the same setting.
bool stay_in_cache(double weight_bytes);

}  // namespace taso::cost
