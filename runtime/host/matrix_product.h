// Batched matrix products as MatMul defines them, for any number type; shared by the families that multiply.
#pragma once

#include "runtime/host/loops.h"

namespace taso::runtime {

/// MatMul of two arrays of one type: float, double or an integer type. Throws InputError if they do not fit.
Array matrix_product(const HostCall& call, const Array& a, const Array& b);

}  // namespace taso::runtime
