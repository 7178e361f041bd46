// Whether clean-ups have kept what a graph computes where they computed something ahead: decided from what the
// operators mean, by code that has nothing in common with the clean-ups.
#pragma once

#include <memory>

#include "verifier/replay/same_graph.h"

namespace taso::verifier {

/// For difference() between a graph and the one that clean-ups have made of it. It accepts, beyond what is the same,
/// - a constant for what depends on constants and sizes only: numbers are computed anew, bit by bit the same, and where sizes
///   are open for two choices of them;
/// - a convolution or product with other weights for one with a batch normalisation behind it: each weight has to be the old
///   one times its channel's scale, and each bias what the formula gives, up to the rounding of the element type;
/// - the operand of a dropout that does not train for its result.
OtherWay computed_ahead();

}  // namespace taso::verifier
