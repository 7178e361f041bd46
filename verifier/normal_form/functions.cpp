// Functions of sums. Cases are distinguished by the guards that do not depend on a sum's bound variables, so that the
// same function of the same elements always looks the same.
#include <algorithm>
#include <cmath>

#include "verifier/normal_form/matching.h"
#include "verifier/normal_form/sum.h"

namespace taso::verifier::normal {
namespace {

Sum opaque(Function function, const std::vector<Sum>& operands) {
  Factor factor;
  factor.kind = Factor::Kind::function;
  factor.head = static_cast<std::size_t>(function);
  for (const Sum& operand : operands) factor.operands.push_back(std::make_shared<const Sum>(operand));
  return single(std::move(factor));
}

Sum applied(Function function, const std::vector<Sum>& operands);

/// One over a function's value, as a total function: 1/0 is 0, and so is 0 to any negative power.
Sum inverse_of(const Factor& factor) {
  const auto negated = [&](std::size_t operand) { return scaled(*factor.operands[operand], {-1, 1}); };
  switch (static_cast<Function>(factor.head)) {
    case Function::reciprocal: return *factor.operands[0];
    case Function::exp: return applied(Function::exp, {negated(0)});
    case Function::pow: return applied(Function::pow, {*factor.operands[0], negated(1)});
    default: return opaque(Function::reciprocal, {single(factor)});
  }
}

Sum reciprocal(const Sum& sum) {
  if (sum.terms.size() != 1 || !sum.terms[0].bound.empty() || !sum.terms[0].guards.empty())
    return opaque(Function::reciprocal, {sum});
  // If there is one term, factor by factor.
  const Term& term = sum.terms[0];
  Sum product = constant(inverse(term.coefficient));
  for (const Factor& factor : term.factors) {
    Factor turned = factor;
    if (factor.kind == Factor::Kind::reciprocal)
      turned.kind = Factor::Kind::size, product = product * single(std::move(turned));
    else if (factor.kind == Factor::Kind::size && facts().surely(at_least(factor.index[0], 1)))
      turned.kind = Factor::Kind::reciprocal, product = product * single(std::move(turned));
    else if (factor.kind == Factor::Kind::function)
      product = product * inverse_of(factor);
    else
      product = product * opaque(Function::reciprocal, {single(factor)});
  }
  return product;
}

/// base^exponent for a small whole or half exponent; nothing for others. 0^0 is 1.
std::optional<Sum> small_power(const Sum& base, Rational exponent) {
  if (exponent == Rational{1, 2}) return applied(Function::sqrt, {base});
  if (exponent.denominator != 1 || std::abs(exponent.numerator) > 3) return std::nullopt;
  Sum power = constant(Rational{1, 1});
  for (std::int64_t i = 0; i < std::abs(exponent.numerator); ++i) power = power * base;
  return exponent.numerator < 0 ? applied(Function::reciprocal, {power}) : power;
}

/// The factor, if the sum is nothing else.
const Factor* only_factor(const Sum& sum) {
  if (sum.terms.size() != 1) return nullptr;
  const Term& term = sum.terms[0];
  const bool is_alone = term.coefficient == Rational{1, 1} && term.bound.empty() && term.guards.empty();
  return is_alone && term.factors.size() == 1 ? &term.factors[0] : nullptr;
}

bool is_zero(const Sum& sum) {
  const auto value = number(sum);
  return value && value->is_zero();
}

Sum applied(Function function, const std::vector<Sum>& operands) {
  if (const AnyFunction* any = any_function(function);
      any && any->keeps_zero && std::all_of(operands.begin(), operands.end(), is_zero))
    return {};
  const auto first = number(operands[0]);
  const bool zero = first && first->is_zero(), one = first && *first == Rational{1, 1};
  switch (function) {
    case Function::reciprocal:
      if (!zero) return reciprocal(operands[0]);
      break;
    case Function::exp:
      if (zero) return constant(Rational{1, 1});
      break;
    case Function::erf:
    case Function::tanh:
      if (zero) return {};
      break;
    case Function::sqrt:
      if (zero || one) return operands[0];
      break;
    case Function::pow:
      if (const auto exponent = number(operands[1]))
        if (const auto power = small_power(operands[0], *exponent)) return *power;
      // exp(x)^y = exp(x y)
      if (const Factor* base = only_factor(operands[0]);
          base && base->kind == Factor::Kind::function && static_cast<Function>(base->head) == Function::exp)
        return applied(Function::exp, {*base->operands[0] * operands[1]});
      break;
    case Function::any: break;
  }
  return opaque(function, operands);
}

bool is_partial(Function function) {
  return function == Function::reciprocal || function == Function::sqrt || function == Function::pow;
}

void note(Function function, const std::vector<Sum>& operands, const Constraints& known) {
  constexpr std::size_t most_applications = 200;
  Workspace& workspace = Workspace::current();
  if (workspace.applications->size() >= most_applications) throw ProofLimit("too many partial functions are applied");
  Constraints guards = workspace.path;
  guards.insert(guards.end(), known.begin(), known.end());
  workspace.applications->push_back({function, operands, std::move(guards)});
}

Sum apply_by_cases(Function function, const std::vector<Sum>& operands, const Constraints& known, bool noted) {
  Workspace::current().step();
  for (const Sum& operand : operands) {
    const auto guard = outer_guard(operand);
    if (!guard) continue;
    Sum result;
    for (const Constraint& assumed : {*guard, guard->negated()}) {
      const Constraints context = with(known, assumed);
      std::vector<Sum> here;
      for (const Sum& each : operands) here.push_back(simplified(each, context));
      result = result + guarded(apply_by_cases(function, here, context, noted), {assumed});
    }
    return result;
  }
  std::vector<Sum> collected;
  for (const Sum& operand : operands) collected.push_back(combined(operand, known));
  if (noted) note(function, collected, known);
  return applied(function, collected);
}

}  // namespace

const AnyFunction* any_function(Function function) {
  if (function < Function::any) return nullptr;
  return &Workspace::current().any_functions.at(static_cast<std::size_t>(function) -
                                                static_cast<std::size_t>(Function::any));
}

Sum apply_silently(Function function, const std::vector<Sum>& operands) {
  return apply_by_cases(function, operands, {}, false);
}

Sum apply(Function function, const std::vector<Sum>& operands) {
  const Workspace& workspace = Workspace::current();
  const bool noted = workspace.notes && workspace.applications != nullptr && is_partial(function);
  return apply_by_cases(function, operands, {}, noted);
}

}  // namespace taso::verifier::normal
