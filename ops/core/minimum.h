// The smaller of two dimensions where nothing says which one it is: how many elements a slice takes of an axis that may
// be shorter than its end.
#pragma once

#include "ops/core/dim.h"

namespace taso::ops {

/// One of the two if it is the smaller one always, else "min(a, b)": an unknown like any other, from 1 on, of which two
/// things more are known: it is at most a and at most b, and it has a number once both have one.
/// `a` has to be 1 or more always; `b` may become 0, which then no unknown stands for, as everywhere.
Dim minimum(Dim a, Dim b);

/// Whether there is a minimum in it one of whose two may become 0.
bool has_minimum_that_may_vanish(Dim dim);

}  // namespace taso::ops
