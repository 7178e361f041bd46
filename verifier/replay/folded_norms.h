// Batch normalisations that were folded into the weights before them.
#pragma once

#include "verifier/replay/known_numbers.h"
#include "verifier/replay/same_graph.h"

namespace taso::verifier {

/// Whether `actual` is the convolution or product before the normalisations at the end of `expected`, with each weight
/// and bias that the formula gives, up to the rounding of the element type.
bool is_normalised(const Value& expected, const Value& actual, Numbers& numbers, OpenPairs& open);

}  // namespace taso::verifier
