// Whether the weights of a network stay in the cache of a GPU from run to run. If so, its kernels take less time than those of
// a large network do, whose weights come from memory in every run.
#pragma once

#include "cost/plan/graph_view.h"
#include "cost/plan/kernel.h"
#include "cost/pricing/precision.h"

namespace taso::cost {

/// Of all that its kernels read and that depends on constants only, each once.
double weight_bytes_of(const Graph& graph, const DimensionSizes& sizes, Precision precision);

/// To be asked once for a network, not for every graph that a search makes of it: two graphs can only be compared if both are
/// priced alike.
bool stay_in_cache(double weight_bytes);

}  // namespace taso::cost
