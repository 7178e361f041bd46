// Whether a sum is zero: terms with the same body, up to a change of bound variables, must cancel wherever guards hold.
#pragma once

#include "verifier/normal_form/sum.h"

namespace taso::verifier::normal {

/// Whether the sum is 0 for all contents of the inputs and all values of the outer variables that meet the context.
/// False means "cannot tell".
bool vanishes(const Sum& sum, const Constraints& context);

/// The same with terms collected that differ in nothing but their coefficient and the names of variables.
Sum combined(const Sum& sum, const Constraints& context);
/// Whether the two are the same when terms are collected; quickly decided, so that "false" says little.
bool plainly_equal(const Sum& a, const Sum& b, const Constraints& context);

}  // namespace taso::verifier::normal
