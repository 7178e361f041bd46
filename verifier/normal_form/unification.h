// Finds the change of bound variables that makes two terms the same.
#pragma once

#include <functional>

#include "verifier/normal_form/sum.h"

namespace taso::verifier::normal {

/// Whether it is a function or a maximum, which contain sums.
bool is_opaque(const Factor& factor);

/// A one-to-one map from the integer points of the member's bound variables to points of the pattern's.
struct Correspondence {
  Substitution forward;   ///< the pattern's variables, as polynomials over the member's
  Substitution backward;  ///< the member's variables, as polynomials over the pattern's
  Constraints image;      ///< the pattern's points that are reached, if the member has fewer variables; else empty
};

/// Calls `accept` with each correspondence under which all factors that are not opaque are the same, until it returns
/// true; returns false if it never does. The two terms bind different variables, the pattern at least as many as the
/// member. Opaque factors only help to find candidates: `accept` decides whether they are equal.
bool unify(const Term& pattern, const Term& member, const std::function<bool(const Correspondence&)>& accept);
/// The same for alternatives of maxima, whose bodies `accept` compares.
bool unify(const Alternative& pattern, const Alternative& member,
           const std::function<bool(const Correspondence&)>& accept);

}  // namespace taso::verifier::normal
