// Shows that everything a rule assumes holds where it was matched, and computes its target there.
#pragma once

#include <string>
#include <vector>

#include "search/rewriting/matcher.h"

namespace taso::search {

/// Fills in the instance, its unknowns and the target of a match whose inputs and variables are bound. False if the
/// rule does not apply here: an attribute differs, a requirement fails or cannot be shown for all values of the model's
/// unknown dimensions, or the target does not give the same types.
bool discharge(Store& store, Match& match, ElementType element);

}  // namespace taso::search
