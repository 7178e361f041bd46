// Proves the obligation beside equality: a rule's target is defined wherever its source is.
//
// Provers of equality treat every function as total (1/0 is 0, the root of a negative number is some number). Their
// proofs hold over the reals wherever both sides are defined. That the target is defined where the source is, is proved
// here, from the partial functions that each side applies on the way to an element.
#pragma once

#include "verifier/normal_form/normal_form.h"

namespace taso::verifier {

/// Whether an operator of the source or of the target may be undefined for some elements of its operands.
bool source_may_be_undefined(const rules::Instance& instance);
bool target_may_be_undefined(const rules::Instance& instance);

/// Proved if, for all unknowns that satisfy the hypotheses and all real contents, every element of the target is
/// defined where the same element of the source is. An element is undefined if any element read for it is, even one
/// that is multiplied by zero.
NormalFormResult prove_definedness(const rules::Instance& instance, const NormalFormLimits& limits = {});

}  // namespace taso::verifier
