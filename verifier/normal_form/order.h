// Sums with finite maxima, compared as real numbers: Z3 knows the laws of max and min.
#pragma once

#include "verifier/normal_form/sum.h"

namespace taso::verifier::normal {

/// Whether the sum is 0 for all real values of its elements, functions and iterated sums. Only tried if it contains a
/// maximum. False means "cannot tell".
bool vanishes_by_order(const Sum& sum, const Constraints& context);

}  // namespace taso::verifier::normal
