// The obligation beside equality: a rule's target has a value wherever its source has one.
//
// Provers of equality take every function for total (1/0 is 0, the root of a negative number is some number). What they
// prove is right over the reals wherever both sides have values; that the target has one where the source has is proved
// here, from the partial functions that each side applies on the way to an element.
#pragma once

#include "verifier/normal_form/normal_form.h"

namespace taso::verifier {

/// Whether an operator of the source or of the target may have no value for some elements of its operands.
bool source_may_be_undefined(const rules::Instance& instance);
bool target_may_be_undefined(const rules::Instance& instance);

/// Proved if, for all unknowns that meet the hypotheses and all real contents, every element of the target is defined
/// where the same element of the source is. An element is undefined if any element that is read for it is, also one
/// that is multiplied by zero.
NormalFormResult prove_definedness(const rules::Instance& instance, const NormalFormLimits& limits = {});

}  // namespace taso::verifier
