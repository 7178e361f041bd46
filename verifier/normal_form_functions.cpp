// Opaque factors: functions and maxima of sums. Cases are distinguished by the guards that do not depend on what a sum
// binds, so that the same function of the same elements always looks the same.
#include <algorithm>
#include <cmath>

#include "verifier/normal_form_sum.h"

namespace taso::normal {
namespace {

Facts& facts() { return Workspace::current().facts; }

std::optional<Constraint> outer_guard(const Sum& sum) {
  for (const Term& term : sum.terms)
    for (const Constraint& guard : term.guards)
      if (!occurs_any(term.bound, guard.value)) return guard;
  return std::nullopt;
}

Constraints with(const Constraints& known, const Constraint& more) {
  Constraints result = known;
  result.push_back(more);
  return result;
}

std::optional<Rational> number(const Sum& sum) {
  if (sum.terms.empty()) return Rational{0, 1};
  if (sum.terms.size() != 1) return std::nullopt;
  const Term& term = sum.terms[0];
  if (!term.bound.empty() || !term.guards.empty() || !term.factors.empty()) return std::nullopt;
  return term.coefficient;
}

Sum single(Factor factor) {
  Term term;
  term.factors.push_back(std::move(factor));
  Sum sum;
  sum.terms.push_back(std::move(term));
  return sum;
}

Sum opaque(Function function, const std::vector<Sum>& operands) {
  Factor factor;
  factor.kind = Factor::Kind::function;
  factor.head = static_cast<std::size_t>(function);
  for (const Sum& operand : operands) factor.operands.push_back(std::make_shared<const Sum>(operand));
  return single(std::move(factor));
}

Sum reciprocal(const Sum& sum) {
  if (sum.terms.size() != 1 || !sum.terms[0].bound.empty() || !sum.terms[0].guards.empty())
    return opaque(Function::reciprocal, {sum});
  // Factor by factor, where there are only factors.
  const Term& term = sum.terms[0];
  Sum product = constant(inverse(term.coefficient));
  for (const Factor& factor : term.factors) {
    Factor turned = factor;
    if (factor.kind == Factor::Kind::reciprocal)
      turned.kind = Factor::Kind::size, product = product * single(std::move(turned));
    else if (factor.kind == Factor::Kind::size && facts().surely(at_least(factor.index[0], 1)))
      turned.kind = Factor::Kind::reciprocal, product = product * single(std::move(turned));
    else
      product = product * opaque(Function::reciprocal, {single(factor)});
  }
  return product;
}

Sum applied(Function function, const std::vector<Sum>& operands) {
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
      if (const auto exponent = number(operands[1]);
          exponent && exponent->denominator == 1 && exponent->numerator >= 1 && exponent->numerator <= 3) {
        Sum power = operands[0];
        for (std::int64_t i = 1; i < exponent->numerator; ++i) power = power * operands[0];
        return power;
      }
      break;
  }
  return opaque(function, operands);
}

Sum apply_by_cases(Function function, const std::vector<Sum>& operands, const Constraints& known) {
  Workspace::current().step();
  for (const Sum& operand : operands) {
    const auto guard = outer_guard(operand);
    if (!guard) continue;
    Sum result;
    for (const Constraint& assumed : {*guard, guard->negated()}) {
      const Constraints context = with(known, assumed);
      std::vector<Sum> here;
      for (const Sum& each : operands) here.push_back(simplified(each, context));
      result = result + guarded(apply_by_cases(function, here, context), {assumed});
    }
    return result;
  }
  return applied(function, operands);
}

/// Simplifies guards and eliminates variables that equations fix; false if there is nothing in it.
bool simplify(Alternative& alternative, const Constraints& known) {
  Term term;  // a term with the same binders and guards, whose only factor stands for the body
  term.bound = alternative.bound;
  term.guards = alternative.guards;
  Factor body;
  body.kind = Factor::Kind::function;
  body.operands = {alternative.body};
  term.factors.push_back(std::move(body));
  std::vector<Term> result;
  simplify_into(result, std::move(term), known);
  if (result.empty()) return false;
  if (result.size() != 1) return true;
  // A variable that occurs nowhere would be counted in a sum; among alternatives it makes no difference.
  for (const Factor& factor : result[0].factors)
    if (factor.kind != Factor::Kind::function && factor.kind != Factor::Kind::size) return true;
  const auto kept = std::find_if(result[0].factors.begin(), result[0].factors.end(),
                                 [](const Factor& factor) { return factor.kind == Factor::Kind::function; });
  for (const Factor& factor : result[0].factors)
    if (factor.kind == Factor::Kind::size && !facts().surely(at_least(factor.index[0], 1))) return true;
  alternative.bound = result[0].bound;
  alternative.guards = result[0].guards;
  alternative.body = kept->operands[0];
  return true;
}

/// The alternatives of a maximum, if the sum is nothing else.
const Factor* only_maximum(const Sum& sum) {
  if (sum.terms.size() != 1) return nullptr;
  const Term& term = sum.terms[0];
  if (!term.bound.empty() || !term.guards.empty() || term.factors.size() != 1) return nullptr;
  if (term.coefficient != Rational{1, 1} || term.factors[0].kind != Factor::Kind::maximum) return nullptr;
  return &term.factors[0];
}

Sum maximum_by_cases(std::vector<Alternative> alternatives, const Constraints& known) {
  std::vector<Alternative> flat;
  std::optional<Rational> greatest;  // of those that are numbers
  while (!alternatives.empty()) {
    Workspace::current().step();
    Alternative alternative = std::move(alternatives.back());
    alternatives.pop_back();
    if (!simplify(alternative, known)) continue;
    if (const auto guard = outer_guard(*alternative.body)) {
      if (!occurs_any(alternative.bound, guard->value)) {
        Sum result;
        alternatives.push_back(alternative);
        alternatives.insert(alternatives.end(), flat.begin(), flat.end());
        if (greatest) alternatives.push_back({{}, {}, std::make_shared<const Sum>(constant(*greatest))});
        for (const Constraint& assumed : {*guard, guard->negated()}) {
          const Constraints context = with(known, assumed);
          std::vector<Alternative> here = alternatives;
          for (Alternative& each : here) each.body = std::make_shared<const Sum>(simplified(*each.body, context));
          result = result + guarded(maximum_by_cases(std::move(here), context), {assumed});
        }
        return result;
      }
      for (const Constraint& assumed : {*guard, guard->negated()}) {
        Alternative part = alternative;
        part.guards.push_back(assumed);
        Constraints context = known;
        context.insert(context.end(), part.guards.begin(), part.guards.end());
        part.body = std::make_shared<const Sum>(simplified(*part.body, context));
        alternatives.push_back(std::move(part));
      }
      continue;
    }
    if (const Factor* inner = only_maximum(*alternative.body)) {
      const SumPtr owner = alternative.body;
      for (const Alternative& each : inner->alternatives) {
        Substitution rename;  // the binders of both come together
        for (const Variable variable : each.bound) rename.emplace_back(variable, Polynomial::variable(variable));
        Alternative joined = substitute(each, rename);
        joined.bound.insert(joined.bound.end(), alternative.bound.begin(), alternative.bound.end());
        joined.guards.insert(joined.guards.end(), alternative.guards.begin(), alternative.guards.end());
        alternatives.push_back(std::move(joined));
      }
      continue;
    }
    const auto value = number(*alternative.body);
    if (value && alternative.bound.empty() && alternative.guards.empty()) {
      const Rational difference = greatest ? *value + -*greatest : *value;
      if (!greatest || difference.numerator > 0) greatest = value;
      continue;
    }
    flat.push_back(std::move(alternative));
  }
  if (greatest) flat.push_back({{}, {}, std::make_shared<const Sum>(constant(*greatest))});
  if (flat.size() == 1 && flat[0].bound.empty() && flat[0].guards.empty()) return *flat[0].body;
  std::reverse(flat.begin(), flat.end());
  Factor factor;
  factor.kind = Factor::Kind::maximum;
  factor.alternatives = std::move(flat);
  return single(std::move(factor));
}

}  // namespace

Sum apply(Function function, const std::vector<Sum>& operands) { return apply_by_cases(function, operands, {}); }

Sum maximum(std::vector<Alternative> alternatives) { return maximum_by_cases(std::move(alternatives), {}); }

Sum maximum(const Sum& a, const Sum& b) {
  return maximum({{{}, {}, std::make_shared<const Sum>(a)}, {{}, {}, std::make_shared<const Sum>(b)}});
}

Sum minimum(const Sum& a, const Sum& b) {
  constexpr Rational minus{-1, 1};
  return scaled(maximum(scaled(a, minus), scaled(b, minus)), minus);
}

}  // namespace taso::normal
