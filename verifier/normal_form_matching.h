// Whether a sum is zero: terms with the same body, up to a change of bound variables, must cancel wherever guards hold.
#pragma once

#include "verifier/normal_form_sum.h"

namespace taso::normal {

/// Whether the sum is 0 for all contents of the inputs and all values of the outer variables that meet the context. False
/// means "cannot tell".
bool vanishes(const Sum& sum, const Constraints& context);

}  // namespace taso::normal
