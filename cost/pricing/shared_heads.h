// Calls of attention whose heads share keys and values: the heads that share them are an axis of their own, along which
// keys and values have extent 1.
#pragma once

#include "cost/plan/repeated_heads.h"
#include "cost/pricing/call.h"

namespace taso::cost {

/// The operand of a call that reads what is repeated where it lies. It has one axis more than the factor if heads are
/// shared.
void read_in_place(Call::Operand& operand, const Repetition& repetition);

/// Cuts the axis of heads of all other operands into groups and the heads of each. `is_cut` says which operands have
/// these axes already; `rank` is that of the scores. A transpose of the result becomes a matter of its strides.
void split_heads(Call& call, std::size_t rank, const SharedHeads& heads, const std::vector<bool>& is_cut);

}  // namespace taso::cost
