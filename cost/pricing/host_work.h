// The time of an operator without a kernel on the host: copies to the host and back, and the interpreter's own work.
//
// A roofline of the interpreter (runtime/host) on the host of an H200. Two figures were measured there:
// InstanceNormalization of 320×32×32 took 3.8 ms, Neg of a tiny tensor 20 µs. Other operators were compared with the
// first on another machine. The estimate is rough, but separates milliseconds from microseconds.
#pragma once

#include "cost/plan/kernel.h"

namespace taso::cost {

/// Returns nanoseconds. Unknown sizes count as 0.
double nanoseconds_on_host(const GraphView& view, const Kernel& kernel);

}  // namespace taso::cost
