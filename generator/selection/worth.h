// Which of the laws that are proved are worth being written: those that a search can use and a person can read. What is
// decided of a law depends on no law that is larger.
#pragma once

#include <cstddef>
#include <stop_token>
#include <vector>

#include "rules/language/rule.h"

namespace taso::generator {

/// A law that is proved: in the directions in which it is true, the more general first; then as a merge, if it is one.
using Law = std::vector<rules::Rule>;

/// Whether a search can find the source, other than by a rule that makes it and that this one would only undo. It looks
/// for results that depend on an input of the network. Enlarged kernels, kernels that pool and identities are in no
/// file.
bool can_match(const rules::Rule& rule);

/// Whether no side has each input once, or an operator takes one operand twice. Of laws of several inputs that says
/// what they become where some of these are equal, and no network computes x + x. A square is an operator of one
/// operand.
bool is_coincidence(const rules::Rule& law);

/// Whether both sides are the same but for the places of inputs: that leads from one graph to another that costs as
/// much. A sum or a product of three is not meant: which two come first may matter to another rule.
bool only_exchanges(const rules::Rule& law);

/// Whether the two sides are the same polynomial in whatever is no sum, difference or product.
bool is_polynomial_identity(const rules::Rule& law);

/// How many kernels a side takes: operators, each once, without those that work on filters, biases and scalars alone,
/// which are known beforehand, those that only say where data lies, and biases, which are added by the convolution.
std::size_t kernels_of(const std::vector<rules::PatternPtr>& side);

/// Whether a search should try it. One result: it takes no more kernels afterwards; or a function or a movement of data
/// goes inwards, where it may be merged, a function with what computes its operand, a movement with its inverse; or a
/// function is done twice, once merged with what computes its operand and once with what reads it. Two results:
/// products or convolutions that have an operand in common; else it saves nothing to compute them as one.
bool leads_on(const rules::Rule& rule);

/// What needs no rule: a search finds a sum or a product in either order.
std::vector<rules::Rule> exchanges();

/// What is worth being written, and how many rules are left after each step.
struct Worth {
  std::vector<Law> laws;
  std::size_t proved = 0, matching = 0, no_arithmetic = 0, not_stated = 0, not_following = 0, leading_on = 0;
};

/// `stated` are the rules that are there anyway.
Worth worth_of(std::vector<Law> laws, const std::vector<rules::Rule>& stated, const std::stop_token& stop = {});

}  // namespace taso::generator
