// Kernels for functions of opaque operators (cost/functions/device_function.h). Element functions are in
// kernels/element_wise.cpp; the operands of all others are dense.
#pragma once

#include <vector>

#include "runtime/gpu/launch.h"

namespace taso::gpu {

/// The launches, one after the other, and the scratch memory that they share.
std::vector<SourceLaunch> function_sources(const cost::Call& call);
std::int64_t scratch_bytes_of_function(const cost::Call& call);

/// Passes over rows, then a result per row or per element: a block, or a part of one, for each row.
SourceLaunch row_function_source(const cost::Call& call);
/// Running sums or products: a block for each line.
SourceLaunch scan_source(const cost::Call& call);
/// The first of sorted rows: a thread for each element, which counts the elements before it.
SourceLaunch top_source(const cost::Call& call);
/// A thread for each result element.
SourceLaunch place_source(const cost::Call& call);
/// A copy of operand 0, and the updates.
std::vector<SourceLaunch> scatter_sources(const cost::Call& call);
/// RNN, GRU and LSTM: products with all inputs, then all steps.
std::vector<SourceLaunch> recurrent_sources(const cost::Call& call);
/// The range of operand 0 by one block, then the quantised numbers.
std::vector<SourceLaunch> dynamic_quantisation_sources(const cost::Call& call);

}  // namespace taso::gpu
