// Products of rows that were made flat: ONNX Runtime writes MatMul and Add of more than two axes as Reshape, Gemm and
// Reshape back, and that is what an execution provider gets to see. What follows the second Reshape, such as a
// residual, could not become a part of the product's kernel.
#pragma once

#include "onnx/export/edit.h"

namespace taso::runtime {

/// Writes each that ONNX Runtime made as MatMul and Add again. Returns how many there were.
std::size_t unflatten_products(onnx::GraphEdit& edit);

}  // namespace taso::runtime
