// The minimum of two dimensions when it is unknown which one is smaller. Example: the number of elements that a slice
// takes from an axis that may be shorter than the slice's end.
#pragma once

#include "ops/core/dim.h"

namespace taso::ops {

/// Returns a or b if one of them is always the smaller, else an atom "min(a, b)". Like every unknown, the atom is 1 or
/// more. It is also at most a and at most b, and it has a value once both have one. One of the two must always be 1 or
/// more; the other may become 0, a case that the atom does not cover.
Dim minimum(Dim a, Dim b);

/// Whether the dimension contains a minimum with an operand that may become 0.
bool has_minimum_that_may_vanish(Dim dim);

}  // namespace taso::ops
