// Decides which proved laws are worth writing: those that a search can use and a person can read. The decision on a law
// does not depend on larger laws.
#pragma once

#include <cstddef>
#include <stop_token>
#include <vector>

#include "rules/language/rule.h"

namespace taso::generator {

/// A proved law: the directions that are true, the more general first; then the merge, if there is one.
using Law = std::vector<rules::Rule>;

/// Whether a search can find the source, other than as the result of a rule that this one would only undo. The search
/// looks for results that depend on an input of the network. Enlarged kernels, pooling kernels and identities are in no
/// model.
bool can_match(const rules::Rule& rule);

/// Whether no side has each input exactly once, or an operator takes the same operand twice. Such a law is a special
/// case of laws with more inputs, and no network computes x + x. A square is an operator with one operand.
bool is_coincidence(const rules::Rule& law);

/// Whether the sides differ only in the places of inputs: the rewritten graph costs the same. Sums and products of
/// three are excepted: which two come first may matter to another rule.
bool only_permutes_inputs(const rules::Rule& law);

/// Whether the two sides are the same polynomial, taking everything but sums, differences and products as a variable.
bool is_polynomial_identity(const rules::Rule& law);

/// The number of kernels that a side takes: its distinct operators, without those on filters, biases and scalars alone,
/// which are computed beforehand, without views, and without biases, which the convolution adds.
std::size_t kernels_of(const std::vector<rules::PatternPtr>& side);

/// Whether a search should try the rule. With one result: it takes no more kernels afterwards; or a function or a
/// movement of data goes inwards, where it may be merged (a function with what computes its operand, a movement with
/// its inverse); or a function is done twice, once merged with what computes its operand and once with what reads it.
/// With two results: they are products or convolutions that share an operand; otherwise computing them as one saves
/// nothing.
bool is_useful_direction(const rules::Rule& rule);

/// Laws that need no rule: the search matches sums and products in either order.
std::vector<rules::Rule> commutativity_axioms();

/// The laws worth writing, and the number of rules left after each step.
struct Worth {
  std::vector<Law> laws;
  std::size_t proved = 0, matching = 0, no_arithmetic = 0, not_stated = 0, not_following = 0, leading_on = 0;
};

/// `stated` are the rules that exist already.
Worth worth_of(std::vector<Law> laws, const std::vector<rules::Rule>& stated, const std::stop_token& stop = {});

}  // namespace taso::generator
