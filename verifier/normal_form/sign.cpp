#include "verifier/normal_form/sign.h"

#include <algorithm>

namespace taso::verifier::normal {
namespace {

Sign sign_of_size(const Polynomial& size) {
  if (facts().entails({}, at_least(size, 1)) == Answer::yes) return Sign::positive;
  return facts().entails({}, at_least(size, 0)) == Answer::yes ? Sign::not_negative : Sign::unknown;
}

bool is_everywhere(const Alternative& alternative) { return alternative.bound.empty() && alternative.guards.empty(); }

Sign sign_of(const Factor& factor) {
  switch (factor.kind) {
    case Factor::Kind::access: return Sign::unknown;
    // Variables are marked by an apostrophe; numbers are stored without their sign.
    case Factor::Kind::real:
      return Workspace::current().reals[factor.head].starts_with('\'') ? Sign::unknown : Sign::positive;
    case Factor::Kind::size: return sign_of_size(factor.index[0]);
    case Factor::Kind::reciprocal: return Sign::positive;
    case Factor::Kind::function: {
      const Sign operand = sign_of(*factor.operands[0]);
      switch (static_cast<Function>(factor.head)) {
        case Function::exp: return Sign::positive;
        case Function::erf:
        case Function::tanh: return operand;
        case Function::sqrt: return operand == Sign::positive ? Sign::positive : Sign::not_negative;
        case Function::reciprocal: return operand == Sign::unknown ? Sign::unknown : Sign::positive;
        case Function::pow: return operand == Sign::positive ? Sign::positive : Sign::unknown;
        case Function::any: break;
      }
      return Sign::unknown;
    }
    case Factor::Kind::maximum: {
      Sign best = Sign::unknown;
      for (const Alternative& alternative : factor.alternatives)
        if (is_everywhere(alternative)) best = std::max(best, sign_of(*alternative.body));
      return best;
    }
  }
  return Sign::unknown;
}

/// Whether they are syntactically equal; other equal factors count as different.
bool are_the_same(const Factor& a, const Factor& b) {
  return a.kind == b.kind && a.kind != Factor::Kind::maximum && a.head == b.head && a.index == b.index &&
         a.operands == b.operands;
}

/// The sign of minus a maximum: all alternatives must be negative, or not positive.
Sign sign_of_negated(const Factor& factor) {
  if (factor.kind != Factor::Kind::maximum || factor.alternatives.empty()) return Sign::unknown;
  Sign worst = Sign::positive;
  for (const Alternative& alternative : factor.alternatives) {
    if (!is_everywhere(alternative)) return Sign::unknown;
    worst = std::min(worst, sign_of(scaled(*alternative.body, {-1, 1})));
  }
  return worst;
}

Sign sign_of(const Term& term) {
  // Even powers are never negative.
  std::vector<std::pair<const Factor*, std::size_t>> powers;
  for (const Factor& factor : term.factors) {
    const auto same = std::find_if(powers.begin(), powers.end(),
                                   [&](const auto& power) { return are_the_same(*power.first, factor); });
    if (same == powers.end())
      powers.emplace_back(&factor, 1);
    else
      ++same->second;
  }
  Sign sign = Sign::positive;
  bool is_negated = term.coefficient.numerator < 0;
  for (const auto& [factor, power] : powers) {
    Sign here = sign_of(*factor);
    if (here == Sign::unknown && power % 2 == 0) here = Sign::not_negative;
    if (here == Sign::unknown && is_negated) {
      here = sign_of_negated(*factor);
      is_negated = false;
    }
    sign = std::min(sign, here);
  }
  if (is_negated) return Sign::unknown;
  // A sum over an empty range, or whose guards never hold, is zero.
  if (sign == Sign::positive && !term.guards.empty()) sign = Sign::not_negative;
  for (const Variable variable : term.bound) {
    const auto extent = facts().entry(variable).extent;
    if (!extent || sign_of_size(*extent) != Sign::positive) sign = std::min(sign, Sign::not_negative);
  }
  return sign;
}

}  // namespace

Sign sign_of(const Sum& sum) {
  Sign sign = Sign::not_negative;  // the sign of the empty sum
  for (const Term& term : sum.terms) {
    const Sign here = sign_of(term);
    if (here == Sign::unknown) return Sign::unknown;
    sign = std::max(sign, here);
  }
  return sign;
}

}  // namespace taso::verifier::normal
