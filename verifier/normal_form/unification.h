// Finding the change of bound variables that makes two terms the same.
#pragma once

#include <functional>

#include "verifier/normal_form/sum.h"

namespace taso::verifier::normal {

/// Functions and maxima: they hold sums of their own.
bool is_opaque(const Factor& factor);

/// A one-to-one map between the integer points of two sets of bound variables.
struct Correspondence {
  Substitution forward;   ///< the pattern's variables, as polynomials over the member's
  Substitution backward;  ///< the member's variables, as polynomials over the pattern's
};

/// Calls `accept` with each correspondence found under which the factors that are not opaque are the same, until it
/// returns true; false if it never does. The two bind different variables. Opaque factors only help to find candidates:
/// whether they are equal is left to `accept`.
bool unify(const Term& pattern, const Term& member, const std::function<bool(const Correspondence&)>& accept);
/// The same for alternatives of maxima, whose bodies are left to `accept`.
bool unify(const Alternative& pattern, const Alternative& member,
           const std::function<bool(const Correspondence&)>& accept);

}  // namespace taso::verifier::normal
