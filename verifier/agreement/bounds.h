// Bounds at which two programs may begin or cease to agree. They are guesses: boxes made of them are proved afterwards.
#pragma once

#include <vector>

#include "rules/instance/instance.h"
#include "verifier/normal_form/normal_form.h"

namespace taso::verifier {

/// For each axis of the only result: its ends, and the indices at which a guard in the normal form of either side
/// changes its value, for the first or the last value of the variables that it sums over. Simplest bounds first.
std::vector<std::vector<Dim>> bounds_of(const rules::Instance& instance, const NormalFormLimits& limits = {});

}  // namespace taso::verifier
