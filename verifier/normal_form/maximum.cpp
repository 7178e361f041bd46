// Maxima of sums, over finitely many alternatives and over bound variables. An alternative that is never larger than
// another is left out, and what does not depend on the bound variables is moved outside, so that equal maxima look
// alike. The maximum of nothing is minus infinity, below every number.
#include <algorithm>

#include "verifier/normal_form/matching.h"
#include "verifier/normal_form/sum.h"

namespace taso::verifier::normal {
namespace {

using Kind = Constraint::Kind;

constexpr Rational minus{-1, 1};

SumPtr shared(Sum sum) { return std::make_shared<const Sum>(std::move(sum)); }

bool depends(const Sum& sum, const std::vector<Variable>& variables) {
  std::vector<Variable> inside;
  collect_variables(sum, inside);
  return std::any_of(variables.begin(), variables.end(), [&](Variable variable) {
    return std::find(inside.begin(), inside.end(), variable) != inside.end();
  });
}

/// Eliminates a variable that only guards mention. An integer lies between the bounds exactly if each lower bound is at
/// most each upper one, provided that all bounds are integers.
bool eliminate_hidden(Alternative& alternative) {
  for (const Variable variable : alternative.bound) {
    if (depends(*alternative.body, {variable})) continue;
    Constraints all = alternative.guards;
    add_range(all, Polynomial::variable(variable), variable);
    std::vector<Polynomial> lower, upper;
    Constraints rest;
    bool exact = true;
    for (const Constraint& guard : all) {
      if (!occurs(variable, guard.value)) {
        rest.push_back(guard);
        continue;
      }
      const auto linear = guard.value.linear_in(variable);
      const auto factor = linear ? linear->first.constant() : std::nullopt;
      if (!factor || (*factor != 1 && *factor != -1) || guard.kind != Kind::non_negative ||
          occurs(variable, linear->second)) {
        exact = false;
        break;
      }
      if (*factor == 1)
        lower.push_back(-linear->second);
      else
        upper.push_back(linear->second);
    }
    if (!exact || lower.empty() || upper.empty()) continue;
    for (const Polynomial& low : lower)
      for (const Polynomial& high : upper) rest.push_back(at_least(high, low));
    alternative.guards = std::move(rest);
    std::erase(alternative.bound, variable);
    return true;
  }
  return false;
}

void collect_indices(const Sum& sum, std::vector<Polynomial>& indices) {
  for (const Term& term : sum.terms)
    for (const Factor& factor : term.factors) {
      if (factor.kind == Factor::Kind::access) indices.insert(indices.end(), factor.index.begin(), factor.index.end());
      for (const SumPtr& operand : factor.operands) collect_indices(*operand, indices);
      for (const Alternative& alternative : factor.alternatives) collect_indices(*alternative.body, indices);
    }
}

/// If the body reads at v + rest and the rest contains another bound variable, only their sum matters: once it replaces
/// v, the other variable may be hidden.
bool join_variables(Alternative& alternative) {
  std::vector<Polynomial> indices;
  collect_indices(*alternative.body, indices);
  for (const Polynomial& index : indices)
    for (const Variable variable : alternative.bound) {
      const auto linear = index.linear_in(variable);
      if (!linear || linear->first != Polynomial(1) || occurs(variable, linear->second)) continue;
      std::vector<Variable> others = alternative.bound;
      std::erase(others, variable);
      Polynomial rest;
      std::vector<Variable> joined;
      for (const auto& term : linear->second.terms()) {
        Polynomial product(term.coefficient);
        for (const Variable factor : term.monomial) product = product * Polynomial::variable(factor);
        if (!occurs_any(others, product)) continue;
        rest = rest + product;
        for (const Variable other : others)
          if (occurs(other, product)) joined.push_back(other);
      }
      if (joined.empty()) continue;
      const Variable sum = facts().fresh(std::nullopt, facts().entry(variable).name);
      const Polynomial value = Polynomial::variable(sum) - rest;
      const SumPtr body = substitute(alternative.body, {{variable, value}});
      if (std::all_of(joined.begin(), joined.end(), [&](Variable other) { return depends(*body, {other}); })) continue;
      for (Constraint& guard : alternative.guards) guard = substitute(guard, {{variable, value}});
      add_range(alternative.guards, value, variable);
      std::replace(alternative.bound.begin(), alternative.bound.end(), variable, sum);
      alternative.body = body;
      return true;
    }
  return false;
}

/// Simplifies guards and eliminates variables that equations fix; false if the alternative is empty.
bool simplify_guards(Alternative& alternative, const Constraints& known) {
  Term term;  // has the same binders and guards; its only factor stands for the body
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
  // A variable that occurs nowhere is counted in a sum; among alternatives it does not matter if it has a value.
  const std::vector<Factor>& factors = result[0].factors;
  const bool plain = std::all_of(factors.begin(), factors.end(), [](const Factor& factor) {
    return factor.kind == Factor::Kind::function ||
           (factor.kind == Factor::Kind::size && facts().surely(at_least(factor.index[0], 1)));
  });
  if (!plain) return true;
  alternative.bound = result[0].bound;
  alternative.guards = result[0].guards;
  alternative.body = std::find_if(factors.begin(), factors.end(), [](const Factor& factor) {
                       return factor.kind == Factor::Kind::function;
                     })->operands[0];
  return true;
}

bool simplify(Alternative& alternative, const Constraints& known) {
  do {
    if (!simplify_guards(alternative, known)) return false;
  } while (eliminate_hidden(alternative) || join_variables(alternative));
  return true;
}

/// The maximum, if the sum is just this factor times one.
const Factor* only_maximum(const Sum& sum, Rational factor) {
  if (sum.terms.size() != 1) return nullptr;
  const Term& term = sum.terms[0];
  if (!term.bound.empty() || !term.guards.empty() || term.factors.size() != 1) return nullptr;
  if (term.coefficient != factor || term.factors[0].kind != Factor::Kind::maximum) return nullptr;
  return &term.factors[0];
}

/// Removes alternatives equal to another one, and minima that contain another alternative.
void absorb(std::vector<Alternative>& alternatives, const Constraints& known) {
  const auto covered = [&](std::size_t place) {
    const Alternative& alternative = alternatives[place];
    if (!is_finite(alternative)) return false;
    for (std::size_t other = 0; other < alternatives.size(); ++other) {
      if (other == place || !is_finite(alternatives[other])) continue;
      const Sum& body = *alternatives[other].body;
      if (plainly_equal(*alternative.body, body, known)) return true;
      if (const Factor* inner = only_maximum(*alternative.body, minus))
        for (const Alternative& part : inner->alternatives)
          if (is_finite(part) && plainly_equal(*part.body, scaled(body, minus), known)) return true;
    }
    return false;
  };
  for (std::size_t place = 0; place < alternatives.size();)
    if (covered(place))
      alternatives.erase(alternatives.begin() + static_cast<std::ptrdiff_t>(place));
    else
      ++place;
}

bool never_negative(const Sum& sum);

/// At least some positive number, for all elements.
bool surely_positive(const Sum& sum) {
  return never_negative(sum) && std::any_of(sum.terms.begin(), sum.terms.end(), [](const Term& term) {
           return term.bound.empty() && term.guards.empty() && term.factors.empty();
         });
}

bool never_negative(const Factor& factor) {
  switch (factor.kind) {
    case Factor::Kind::access:
    case Factor::Kind::real: return false;
    case Factor::Kind::size: return facts().surely(at_least(factor.index[0], 0));
    case Factor::Kind::reciprocal: return true;
    case Factor::Kind::function: {
      const auto function = static_cast<Function>(factor.head);
      return function == Function::exp || (function == Function::reciprocal && surely_positive(*factor.operands[0]));
    }
    case Factor::Kind::maximum:
      return std::any_of(factor.alternatives.begin(), factor.alternatives.end(),
                         [](const Alternative& part) { return is_finite(part) && never_negative(*part.body); });
  }
  return false;
}

/// By the signs of its parts alone.
bool never_negative(const Sum& sum) {
  return std::all_of(sum.terms.begin(), sum.terms.end(), [](const Term& term) {
    return term.coefficient.numerator > 0 &&
           std::all_of(term.factors.begin(), term.factors.end(), [](const Factor& f) { return never_negative(f); });
  });
}

Sum finished(std::vector<Alternative> alternatives, const Constraints& known);

/// If a function is monotone, the largest of its values is the value at the largest or smallest operand. All
/// alternatives must be values of one function with the same sign, or 0 if that is one of its values. The function has
/// no value at minus infinity, so there must be an alternative.
std::optional<Sum> of_greatest_operand(std::vector<Alternative> alternatives, const Constraints& known) {
  std::optional<Function> function;
  Rational sign{1, 1};
  bool has_zero = false;
  for (const Alternative& alternative : alternatives) {
    if (alternative.body->terms.empty()) {
      has_zero = true;
      continue;
    }
    if (alternative.body->terms.size() != 1) return std::nullopt;
    const Term& term = alternative.body->terms[0];
    if (!term.bound.empty() || !term.guards.empty() || term.factors.size() != 1 ||
        term.factors[0].kind != Factor::Kind::function)
      return std::nullopt;
    const auto here = static_cast<Function>(term.factors[0].head);
    if (!function) sign = term.coefficient;
    if ((sign != Rational{1, 1} && sign != minus) || term.coefficient != sign || function.value_or(here) != here)
      return std::nullopt;
    function = here;
    const AnyFunction* any = any_function(here);
    const bool rises =
        here == Function::exp || here == Function::tanh || here == Function::erf || (any != nullptr && any->rises);
    if (!rises && !(here == Function::reciprocal && surely_positive(*term.factors[0].operands[0]))) return std::nullopt;
  }
  if (!function) return std::nullopt;
  const AnyFunction* any = any_function(*function);
  const bool keeps_zero =
      function == Function::tanh || function == Function::erf || (any != nullptr && any->keeps_zero);
  if (has_zero && !keeps_zero) return std::nullopt;
  const auto has_value = [&](Alternative alternative) {
    alternative.body = shared({});
    return simplify(alternative, known) && is_finite(alternative);
  };
  if (std::none_of(alternatives.begin(), alternatives.end(), has_value)) return std::nullopt;
  // The largest operand, or minus the largest of the negated ones.
  const Rational direction = *function == Function::reciprocal ? -sign : sign;
  for (Alternative& alternative : alternatives)
    if (!alternative.body->terms.empty())
      alternative.body = shared(scaled(*alternative.body->terms[0].factors[0].operands[0], direction));
  return scaled(apply(*function, {scaled(maximum(std::move(alternatives)), direction)}), sign);
}

Sum maximum_of(std::vector<Alternative> alternatives) {
  Factor factor;
  factor.kind = Factor::Kind::maximum;
  factor.alternatives = std::move(alternatives);
  return single(std::move(factor));
}

/// For a maximum over bound variables only: moves outside what does not depend on them.
std::optional<Sum> taken_apart(const Alternative& alternative, const Constraints& known) {
  const auto maximum_of_body = [&](Sum body) {
    Alternative inner = alternative;
    inner.body = shared(std::move(body));
    std::vector<Alternative> list;
    list.push_back(std::move(inner));
    return finished(std::move(list), known);
  };
  // max (x + c) = max x + c
  Sum outside, inside;
  for (const Term& term : alternative.body->terms) {
    Sum alone;
    alone.terms.push_back(term);
    (depends(alone, alternative.bound) ? inside : outside).terms.push_back(term);
  }
  if (!outside.terms.empty()) return outside + maximum_of_body(std::move(inside));
  // max (c x) = c max x for a positive number c
  if (alternative.body->terms.size() == 1) {
    const Rational scale = alternative.body->terms[0].coefficient;
    if (scale.numerator > 0 && scale != Rational{1, 1})
      return scaled(maximum_of_body(scaled(*alternative.body, inverse(scale))), scale);
  }
  // max min(x, c) = min(max x, c)
  if (const Factor* inner = only_maximum(*alternative.body, minus)) {
    std::vector<Alternative> moving, standing;
    for (const Alternative& part : inner->alternatives)
      (is_finite(part) && !depends(*part.body, alternative.bound) ? standing : moving).push_back(part);
    if (!standing.empty() && !moving.empty()) {
      const Sum least = scaled(finished(std::move(moving), known), minus);
      std::vector<Alternative> list;
      Alternative greatest = alternative;
      greatest.body = shared(least);
      list.push_back(std::move(greatest));
      standing.push_back({{}, {}, shared(scaled(maximum(std::move(list)), minus))});
      return scaled(maximum(std::move(standing)), minus);
    }
  }
  return std::nullopt;
}

/// The alternatives are simplified, flat and free of guards that could move outside.
Sum finished(std::vector<Alternative> alternatives, const Constraints& known) {
  absorb(alternatives, known);
  if (alternatives.size() == 1) {
    if (is_finite(alternatives[0])) return *alternatives[0].body;
    if (!alternatives[0].bound.empty())
      if (auto apart = taken_apart(alternatives[0], known)) return *apart;
  }
  if (auto outside = of_greatest_operand(alternatives, known)) return *outside;
  return maximum_of(std::move(alternatives));
}

Sum maximum_by_cases(std::vector<Alternative> alternatives, const Constraints& known) {
  std::reverse(alternatives.begin(), alternatives.end());
  std::vector<Alternative> flat;
  std::optional<Rational> greatest;  // of the alternatives that are numbers
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
        if (greatest) alternatives.push_back({{}, {}, shared(constant(*greatest))});
        for (const Constraint& assumed : {*guard, guard->negated()}) {
          const Constraints context = with(known, assumed);
          std::vector<Alternative> here = alternatives;
          for (Alternative& each : here) each.body = shared(simplified(*each.body, context));
          result = result + guarded(maximum_by_cases(std::move(here), context), {assumed});
        }
        return result;
      }
      for (const Constraint& assumed : {*guard, guard->negated()}) {
        Alternative part = alternative;
        part.guards.push_back(assumed);
        Constraints context = known;
        context.insert(context.end(), part.guards.begin(), part.guards.end());
        part.body = shared(simplified(*part.body, context));
        alternatives.push_back(std::move(part));
      }
      continue;
    }
    Sum collected = combined(*alternative.body, known);
    const bool is_shorter = collected.terms.size() < alternative.body->terms.size();
    alternative.body = shared(std::move(collected));
    if (is_shorter && !alternative.bound.empty()) {  // a cancelled part may have contained the last use of a variable
      alternatives.push_back(std::move(alternative));
      continue;
    }
    if (const Factor* inner = only_maximum(*alternative.body, {1, 1})) {
      const SumPtr owner = alternative.body;
      for (const Alternative& each : inner->alternatives) {
        Substitution rename;  // the binders of both are combined
        for (const Variable variable : each.bound) rename.emplace_back(variable, Polynomial::variable(variable));
        Alternative joined = substitute(each, rename);
        joined.bound.insert(joined.bound.end(), alternative.bound.begin(), alternative.bound.end());
        joined.guards.insert(joined.guards.end(), alternative.guards.begin(), alternative.guards.end());
        alternatives.push_back(std::move(joined));
      }
      continue;
    }
    const auto value = number(*alternative.body);
    if (value && is_finite(alternative)) {
      if (!greatest || (*value + -*greatest).numerator > 0) greatest = value;
      continue;
    }
    flat.push_back(std::move(alternative));
  }
  const auto is_above_zero = [](const Alternative& alternative) {
    return is_finite(alternative) && never_negative(*alternative.body);
  };
  if (greatest && greatest->numerator <= 0 && std::any_of(flat.begin(), flat.end(), is_above_zero)) greatest.reset();
  if (greatest) flat.push_back({{}, {}, shared(constant(*greatest))});
  return finished(std::move(flat), known);
}

}  // namespace

Sum maximum(std::vector<Alternative> alternatives) { return maximum_by_cases(std::move(alternatives), {}); }

Sum maximum(const Sum& a, const Sum& b) { return maximum({{{}, {}, shared(a)}, {{}, {}, shared(b)}}); }

Sum minimum(const Sum& a, const Sum& b) { return scaled(maximum(scaled(a, minus), scaled(b, minus)), minus); }

}  // namespace taso::verifier::normal
