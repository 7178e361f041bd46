// Decides whether a sum is zero: terms with the same body, up to a change of bound variables, must cancel wherever
// their guards hold.
#pragma once

#include "verifier/normal_form/sum.h"

namespace taso::verifier::normal {

/// Whether the sum is 0 for all contents of the inputs and all values of the outer variables that satisfy the context.
/// False means "cannot tell".
bool vanishes(const Sum& sum, const Constraints& context);

/// The sum with like terms combined: those that differ only in the coefficient and the names of variables.
Sum combined(const Sum& sum, const Constraints& context);
/// Whether the two are the same once like terms are combined. It is decided quickly, so false says little.
bool plainly_equal(const Sum& a, const Sum& b, const Constraints& context);

}  // namespace taso::verifier::normal
