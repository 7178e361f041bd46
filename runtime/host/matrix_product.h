// Matrix products with batches as MatMul defines them, for any number type; shared by the families that multiply.
#pragma once

#include "runtime/host/loops.h"

namespace taso::runtime {

/// MatMul of two arrays of one type, int32, float, double or another integer; throws InputError if they do not fit.
Array matrix_product(const HostCall& call, const Array& a, const Array& b);

}  // namespace taso::runtime
