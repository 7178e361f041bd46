// Scatters along an axis as PyTorch's exporter writes them (index_copy, index_put): the axis is moved to the front,
// rows are written there, and it is moved back. Such a result cannot lie in the memory of its operand; that of one
// ScatterElements along the axis can.
#pragma once

#include "onnx/export/edit.h"

namespace taso::runtime {

/// Writes each as one ScatterElements. Returns how many there were.
std::size_t join_axis_scatters(onnx::GraphEdit& edit);

}  // namespace taso::runtime
