// Sums with maxima of finitely many things, as real numbers that are compared: the laws of max and min are Z3's
// business.
#pragma once

#include "verifier/normal_form/sum.h"

namespace taso::verifier::normal {

/// Whether the sum is 0 whatever real numbers its elements, functions and iterated sums are. Only tried if there is a
/// maximum in it. False means "cannot tell".
bool vanishes_by_order(const Sum& sum, const Constraints& context);

}  // namespace taso::verifier::normal
