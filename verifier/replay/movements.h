// Values that views, transposes and numbers beside them move or scale in another way than before.
#pragma once

#include "verifier/replay/known_numbers.h"
#include "verifier/replay/same_graph.h"

namespace taso::verifier {

/// The operand of a node that adds 0, multiplies by 1, or does the like; otherwise the value itself.
Value without_neutral(const Value& value, KnownNumbers& numbers);

/// Whether views and transposes, and element-wise nodes between them, move each element to the same place.
bool moves_alike(const Value& expected, const Value& actual, KnownNumbers& numbers, OpenPairs& open);

/// Products of matrices that differ at most in where they are multiplied by numbers, before or after: the product of
/// all numbers counts, within what rounding changes.
bool scales_alike(const Value& expected, const Value& actual, KnownNumbers& numbers, OpenPairs& open);

}  // namespace taso::verifier
