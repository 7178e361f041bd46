// Gelu, written out in steps as exporters do, found again: libraries have it as one, and its operand is used twice otherwise.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "cost/pricing/call.h"

namespace taso::cost {

/// x/2 · (1 + erf(x / √2)), or with tanh, in any order of its factors, becomes one step. `numbers` tells which operands that are
/// read are constants of a single element. What is no longer read is taken out of the call; gives the old numbers of what is
/// still read.
std::vector<std::uint32_t> join_gelu(Call& call, const std::vector<std::optional<double>>& numbers);

}  // namespace taso::cost
