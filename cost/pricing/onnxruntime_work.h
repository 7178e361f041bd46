// The time of operators in ONNX Runtime on a CPU, roughly: it only ranks kernels that were not measured yet.
#pragma once

#include "cost/plan/kernel.h"

namespace taso::cost {

/// For a thread of a server's processor, made in the 2020s.
double onnxruntime_nanoseconds(const Kernel& kernel);

}  // namespace taso::cost
