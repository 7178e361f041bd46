// What the host takes for an operator that has no kernel: copies to it and back, and the reference's own work.
//
// A roofline of the reference interpreter (runtime/host) on the machine of an H200. Two figures were measured there:
// InstanceNormalization of 320×32×32 took 3.8 ms, Neg of next to nothing 20 µs. How other operators compare with the first was
// measured on another machine. It is rough, but tells milliseconds from microseconds.
#pragma once

#include "cost/plan/kernel.h"

namespace taso::cost {

/// Nanoseconds. Sizes that are not known count as nothing.
double nanoseconds_on_host(const GraphView& view, const Kernel& kernel);

}  // namespace taso::cost
