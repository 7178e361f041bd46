// Recognises a gelu that an exporter decomposed into steps. Libraries have gelu as one operation; decomposed, it uses
// its operand twice.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "cost/pricing/call.h"

namespace taso::cost {

/// Replaces x/2 · (1 + erf(x / √2)), or the form with tanh, with its factors in any order, by one step. `numbers` holds
/// the values of those read operands that are constants of a single element. Removes reads that are no longer needed
/// from the call, and returns the old numbers of the remaining reads.
std::vector<std::uint32_t> join_gelu(Call& call, const std::vector<std::optional<double>>& numbers);

}  // namespace taso::cost
