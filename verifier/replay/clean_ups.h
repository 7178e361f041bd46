// Checks clean-ups that compute something ahead: whether the graph still computes the same. This is decided from the
// meaning of the operators, by code that is independent of the clean-ups.
#pragma once

#include <memory>

#include "verifier/replay/same_graph.h"

namespace taso::verifier {

/// For difference() between a graph and the cleaned-up one. Beyond equal values, it accepts
/// - a constant for a value that depends on constants and sizes only: its numbers are computed again and must be the
///   same bit by bit; if sizes are open, for two choices of them;
/// - a convolution or product with new weights for one with a batch normalisation behind it: each weight must be the
///   old one times its channel's scale, and each bias what the formula gives, up to the rounding of the element type;
/// - the operand of a dropout that does not train, for its result;
/// - the operand of an element-wise node whose other operand is neutral, for its result;
/// - a recurrent node without the initial states that are 0, for one with them;
/// - views and transposes in sequence for others that move each element to the same place;
/// - an element-wise node for one between two views that cancel each other, if a known operand meets the same elements;
/// - element-wise nodes of some values, for the view or transpose of such nodes of values that were viewed or
///   transposed the other way.
OtherWay computed_ahead();
/// The same for attention that became one operator: also products of matrices whose operands or results are multiplied
/// by numbers, where the product of all numbers is the same up to rounding.
OtherWay with_fused_attention();

}  // namespace taso::verifier
