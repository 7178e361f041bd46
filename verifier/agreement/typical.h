// How much of the output is covered at sizes of ordinary networks.
#pragma once

#include <optional>
#include <vector>

#include "verifier/agreement/agreement.h"

namespace taso::verifier {

/// The share of the output in the boxes where the first input is an image of 56 x 56, kernels are 3 x 3 and everything
/// else is small, as far as the hypotheses allow. Nothing if no such sizes are found.
std::optional<TypicalShare> typical_share(const rules::Instance& instance, const std::vector<Box>& boxes);

}  // namespace taso::verifier
