// A counterexample drawn out: the inputs, every step of both sides, and the first element that differs.
#pragma once

#include <string>

#include "verifier/refutation/refute.h"

namespace taso::verifier {

/// Tensors as rows and columns, one picture for each matrix; what is long is cut short. `instance` is the one of the
/// counterexample.
std::string drawing_of(const Counterexample& counterexample, const rules::Instance& instance);

}  // namespace taso::verifier
