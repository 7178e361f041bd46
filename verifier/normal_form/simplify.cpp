// Keeps terms simple as they are made: guards that bounds decide vanish, variables that equations fix are eliminated,
// and rounded quotients of bound variables are removed by a change of variables.
#include <algorithm>

#include "ops/core/error.h"
#include "verifier/normal_form/matching.h"
#include "verifier/normal_form/sign.h"
#include "verifier/normal_form/sum.h"

namespace taso::verifier::normal {
namespace {

using Kind = Constraint::Kind;

bool is_index(Variable variable) {
  const Facts::Entry& entry = facts().entry(variable);
  return !entry.quotient && (entry.extent || !entry.least);
}

/// The value that an equation gives the variable; nothing unless it occurs once, with coefficient 1 or -1.
std::optional<Polynomial> solved_for(Variable variable, const Polynomial& zero) {
  const auto linear = zero.linear_in(variable);
  if (!linear || occurs(variable, linear->second)) return std::nullopt;
  const auto factor = linear->first.constant();
  if (!factor || (*factor != 1 && *factor != -1)) return std::nullopt;
  return *factor == 1 ? -linear->second : linear->second;
}

void collect(const Polynomial& polynomial, std::vector<Variable>& variables) {
  std::vector<Variable> direct;
  polynomial.collect(direct);
  for (const Variable variable : direct) {
    if (std::find(variables.begin(), variables.end(), variable) != variables.end()) continue;
    variables.push_back(variable);
    if (const auto quotient = facts().entry(variable).quotient) {
      collect(quotient->first, variables);
      collect(quotient->second, variables);
    }
  }
}

void collect(const Constraints& guards, std::vector<Variable>& variables) {
  for (const Constraint& guard : guards) collect(guard.value, variables);
}

void collect(const Factor& factor, std::vector<Variable>& variables) {
  for (const Polynomial& index : factor.index) collect(index, variables);
  for (const SumPtr& operand : factor.operands) collect_variables(*operand, variables);
  for (const Alternative& alternative : factor.alternatives) {
    collect(alternative.guards, variables);
    collect_variables(*alternative.body, variables);
  }
}

/// Eliminates a bound variable that an equation among the guards fixes.
bool eliminate_fixed(std::vector<Variable>& bound, Constraints& guards, Substitution& substitution) {
  for (std::size_t place = 0; place < guards.size(); ++place) {
    if (guards[place].kind != Kind::zero) continue;
    for (const Variable variable : bound) {
      const auto value = solved_for(variable, guards[place].value);
      if (!value) continue;
      guards.erase(guards.begin() + static_cast<std::ptrdiff_t>(place));
      std::erase(bound, variable);
      substitution = {{variable, *value}};
      for (Constraint& guard : guards) guard = substitute(guard, substitution);
      add_range(guards, *value, variable);
      return true;
    }
  }
  return false;
}

/// If a bound variable occurs in a rounded quotient, floor((v + rest) / divisor), it becomes divisor * a + b - rest.
bool split_quotient(std::vector<Variable>& bound, Constraints& guards, const std::vector<Variable>& occurring,
                    const std::vector<Factor>& factors, Substitution& substitution) {
  std::vector<Variable> hidden;
  for (const Factor& factor : factors) collect_binders(factor, hidden);
  const auto change = change_of_variable(occurring, bound, hidden);
  if (!change) return false;
  std::erase(bound, change->variable);
  bound.push_back(change->upper);
  bound.push_back(change->lower);
  substitution = {{change->variable, change->value}};
  for (Constraint& guard : guards) guard = substitute(guard, substitution);
  add_range(guards, change->value, change->variable);
  return true;
}

/// Whether both variables occur in the polynomial only as size * upper + lower.
bool has_only_joined(const Polynomial& polynomial, Variable upper, Variable lower, const Polynomial& size) {
  if (!occurs(upper, polynomial) && !occurs(lower, polynomial)) return true;
  const auto of_lower = polynomial.linear_in(lower), of_upper = polynomial.linear_in(upper);
  if (!of_lower || !of_upper || of_upper->first != of_lower->first * size) return false;
  const Polynomial rest =
      polynomial - of_upper->first * Polynomial::variable(upper) - of_lower->first * Polynomial::variable(lower);
  const std::vector<Variable> both{upper, lower};
  return !occurs_any(both, of_lower->first) && !occurs_any(both, rest);
}

/// Two bound variables that occur only as size * upper + lower, with lower below the size, are one: the inverse of
/// split_quotient. It is what remains of a sum over windows whose taps were distributed over channels.
bool join_pair(Term& term, Substitution& substitution) {
  for (const Variable lower : term.bound)
    for (const Variable upper : term.bound) {
      const auto size = facts().entry(lower).extent, count = facts().entry(upper).extent;
      if (upper == lower || !size || !count || facts().entry(lower).least != 0 || facts().entry(upper).least != 0)
        continue;
      const auto is_joined = [&](const Polynomial& value) { return has_only_joined(value, upper, lower, *size); };
      const auto fits = [&](const Factor& factor) {
        const bool is_simple = factor.operands.empty() && factor.alternatives.empty();
        return is_simple ? std::all_of(factor.index.begin(), factor.index.end(), is_joined)
                         : !occurs(upper, factor) && !occurs(lower, factor);
      };
      const bool fits_all = std::all_of(term.factors.begin(), term.factors.end(), fits) &&
                            std::all_of(term.guards.begin(), term.guards.end(),
                                        [&](const Constraint& guard) { return is_joined(guard.value); });
      const auto occurs_somewhere = [&](const Factor& factor) { return occurs(lower, factor); };
      if (!fits_all || std::none_of(term.factors.begin(), term.factors.end(), occurs_somewhere)) continue;
      if (!facts().surely(at_least(*size, 1)) || !facts().surely(at_least(*count, 0))) continue;
      const Variable one = facts().fresh(*count * *size, facts().entry(upper).name);
      substitution = {{upper, Polynomial(0)}, {lower, Polynomial::variable(one)}};
      std::erase_if(term.bound, [&](Variable variable) { return variable == upper || variable == lower; });
      term.bound.push_back(one);
      for (Constraint& guard : term.guards) guard = substitute(guard, substitution);
      return true;
    }
  return false;
}

/// Replaces a rounded quotient in the factors that has a simpler value wherever the constraints hold. Guards keep it:
/// they may be the reason for that value.
bool settle_quotient(Term& term, const Constraints& constraints) {
  if (term.guards.empty()) return false;
  std::vector<Variable> occurring;
  for (const Factor& factor : term.factors) collect(factor, occurring);
  for (const Variable variable : occurring) {
    const auto quotient = facts().entry(variable).quotient;
    if (!quotient) continue;
    const Polynomial value = facts().quotient(quotient->first, quotient->second, constraints);
    if (value == Polynomial::variable(variable)) continue;
    for (Factor& factor : term.factors) factor = substitute(factor, {{variable, value}});
    return true;
  }
  return false;
}

/// Normalises sizes that occur as real factors: numbers go into the coefficient, products are split into variables, and
/// common factors of numerator and denominator cancel. A sum in the numerator is multiplied out, into `terms`.
bool normalise_sizes(std::vector<Term>& terms, Term& term, const Constraints& known) {
  std::vector<Polynomial> above, below;
  std::vector<Factor> others;
  const auto take = [](std::vector<Polynomial>& list, Polynomial size, Rational& coefficient, bool reciprocal) {
    const std::int64_t content = size.content();
    const Monomial common = size.common_monomial();
    check(content != 0, "a size is not zero");
    coefficient = coefficient * (reciprocal ? Rational{1, content} : Rational{content, 1});
    size = size.divided_exactly(content);
    for (const Variable variable : common) {
      size = size.divided_by(Polynomial::variable(variable)).quotient;
      list.push_back(Polynomial::variable(variable));
    }
    if (size != Polynomial(1)) list.push_back(size);
  };
  for (Factor& factor : term.factors) {
    if (factor.kind == Factor::Kind::size) {
      if (factor.index[0].is_zero()) return false;
      take(above, factor.index[0], term.coefficient, false);
    } else if (factor.kind == Factor::Kind::reciprocal) {
      take(below, factor.index[0], term.coefficient, true);
    } else {
      others.push_back(std::move(factor));
    }
  }
  for (auto size = above.begin(); size != above.end();) {
    const auto same = std::find(below.begin(), below.end(), *size);
    if (same == below.end()) {
      ++size;
      continue;
    }
    below.erase(same);
    size = above.erase(size);
  }
  term.factors = std::move(others);
  const auto add = [&](Factor::Kind kind, const Polynomial& size) {
    Factor factor;
    factor.kind = kind;
    factor.index = {size};
    term.factors.push_back(std::move(factor));
  };
  for (const Polynomial& size : below) add(Factor::Kind::reciprocal, size);
  for (auto size = above.begin(); size != above.end(); ++size) {
    if (size->terms().size() == 1) {
      add(Factor::Kind::size, *size);
      continue;
    }
    for (auto rest = std::next(size); rest != above.end(); ++rest) add(Factor::Kind::size, *rest);
    for (const auto& part : size->terms()) {
      Term product = term;
      Polynomial monomial(part.coefficient);
      for (const Variable variable : part.monomial) monomial = monomial * Polynomial::variable(variable);
      Factor factor;
      factor.kind = Factor::Kind::size;
      factor.index = {monomial};
      product.factors.push_back(std::move(factor));
      simplify_into(terms, std::move(product), known);
    }
    return false;
  }
  return true;
}

/// The lowest or highest of some values, if the context decides which one that is.
std::optional<Polynomial> extreme(const std::vector<Polynomial>& values, bool is_highest, const Constraints& context) {
  for (const Polynomial& value : values)
    if (std::all_of(values.begin(), values.end(), [&](const Polynomial& other) {
          return value == other ||
                 facts().surely(is_highest ? at_least(value, other) : at_least(other, value), context);
        }))
      return value;
  return std::nullopt;
}

/// How many values of the bound variable satisfy the guards, if it occurs only there and between bounds that are known
/// to lie in order. Removes these guards.
std::optional<Polynomial> counted(Variable variable, Term& term, const Constraints& known) {
  const Facts::Entry entry = facts().entry(variable);
  if (!entry.extent || entry.least != 0) return std::nullopt;
  if (std::any_of(term.factors.begin(), term.factors.end(), [&](const Factor& f) { return occurs(variable, f); }))
    return std::nullopt;
  std::vector<Polynomial> lows{Polynomial()}, highs{*entry.extent - 1};
  Constraints others, context = known;
  for (const Constraint& guard : term.guards) {
    if (!occurs(variable, guard.value)) {
      others.push_back(guard);
      continue;
    }
    const auto bound = guard.kind == Kind::non_negative ? solved_for(variable, guard.value) : std::nullopt;
    if (!bound) return std::nullopt;
    const bool is_low = guard.value.linear_in(variable)->first.constant() == 1;
    (is_low ? lows : highs).push_back(*bound);
  }
  if (others.size() == term.guards.size()) return std::nullopt;
  context.insert(context.end(), others.begin(), others.end());
  const auto low = extreme(lows, true, context), high = extreme(highs, false, context);
  if (!low || !high || !facts().surely(at_least(*high + 1, *low), context)) return std::nullopt;
  term.guards = std::move(others);
  return *high - *low + 1;
}

bool is_function(const Factor& factor, Function function) {
  return factor.kind == Factor::Kind::function && static_cast<Function>(factor.head) == function;
}

/// What stands under the root, if the factor is one; null if it is none.
const Sum* under_root(const Factor& factor) {
  return is_function(factor, Function::sqrt) ? factor.operands[0].get() : nullptr;
}

/// What stands under the root, if the factor is one over a root; null if it is not.
const Sum* under_inverse_root(const Factor& factor) {
  if (!is_function(factor, Function::reciprocal)) return nullptr;
  const Sum& below = *factor.operands[0];
  const bool is_alone = below.terms.size() == 1 && below.terms[0].factors.size() == 1 && below.terms[0].bound.empty() &&
                        below.terms[0].guards.empty() && below.terms[0].coefficient == Rational{1, 1};
  return is_alone ? under_root(below.terms[0].factors[0]) : nullptr;
}

/// Whether both are there, equal and nowhere negative.
bool is_square_of_root(const Sum* a, const Sum* b) {
  return a != nullptr && b != nullptr && sign_of(*a) != Sign::unknown && plainly_equal(*a, *b, {});
}

/// exp a exp b = exp(a + b); the product of two equal roots is what stands under them.
std::optional<Sum> product_of(const Factor& a, const Factor& b) {
  if (is_function(a, Function::exp) && is_function(b, Function::exp))
    return apply_silently(Function::exp, {*a.operands[0] + *b.operands[0]});
  if (is_square_of_root(under_root(a), under_root(b))) return *under_root(a);
  if (is_square_of_root(under_inverse_root(a), under_inverse_root(b)))
    return apply_silently(Function::reciprocal, {*under_inverse_root(a)});
  return std::nullopt;
}

/// Multiplies two factors whose product is simpler, into `terms`; false if there are none.
bool multiply_functions(std::vector<Term>& terms, const Term& term, const Constraints& known) {
  for (std::size_t i = 0; i < term.factors.size(); ++i)
    for (std::size_t j = i + 1; j < term.factors.size(); ++j) {
      const auto product = product_of(term.factors[i], term.factors[j]);
      if (!product) continue;
      Term rest = term;
      rest.factors.erase(rest.factors.begin() + static_cast<std::ptrdiff_t>(j));
      rest.factors.erase(rest.factors.begin() + static_cast<std::ptrdiff_t>(i));
      for (const Term& part : product->terms) {
        const Term other = renamed(part);
        Term whole = rest;
        whole.coefficient = whole.coefficient * other.coefficient;
        whole.bound.insert(whole.bound.end(), other.bound.begin(), other.bound.end());
        whole.guards.insert(whole.guards.end(), other.guards.begin(), other.guards.end());
        whole.factors.insert(whole.factors.end(), other.factors.begin(), other.factors.end());
        simplify_into(terms, std::move(whole), known);
      }
      return true;
    }
  return false;
}

}  // namespace

void collect_variables(const Term& term, std::vector<Variable>& variables) {
  collect(term.guards, variables);
  for (const Factor& factor : term.factors) collect(factor, variables);
}

void collect_variables(const Sum& sum, std::vector<Variable>& variables) {
  for (const Term& term : sum.terms) collect_variables(term, variables);
}

void collect_binders(const Factor& factor, std::vector<Variable>& variables) {
  const auto inside = [&](const Sum& sum) {
    for (const Term& term : sum.terms) {
      variables.insert(variables.end(), term.bound.begin(), term.bound.end());
      for (const Factor& inner : term.factors) collect_binders(inner, variables);
    }
  };
  for (const SumPtr& operand : factor.operands) inside(*operand);
  for (const Alternative& alternative : factor.alternatives) {
    variables.insert(variables.end(), alternative.bound.begin(), alternative.bound.end());
    inside(*alternative.body);
  }
}

void add_range(Constraints& guards, const Polynomial& value, Variable variable) {
  const Facts::Entry& entry = facts().entry(variable);
  if (entry.least) guards.push_back(at_least(value, *entry.least));
  if (entry.extent) guards.push_back(at_least(*entry.extent - 1, value));
}

std::optional<ChangeOfVariable> change_of_variable(const std::vector<Variable>& occurring,
                                                   const std::vector<Variable>& changeable,
                                                   const std::vector<Variable>& hidden) {
  for (const Variable place : occurring) {
    const auto quotient = facts().entry(place).quotient;
    if (!quotient) continue;
    const auto& [numerator, divisor] = *quotient;
    std::vector<Variable> below;
    collect(divisor, below);
    if (std::any_of(below.begin(), below.end(), is_index)) continue;
    for (const Variable variable : changeable) {
      const auto linear = numerator.linear_in(variable);
      if (!linear || linear->first != Polynomial(1) || occurs(variable, linear->second)) continue;
      if (!facts().surely(at_least(divisor, 1)) || occurs_any(hidden, linear->second)) continue;
      const Polynomial& rest = linear->second;
      const Facts::Entry entry = facts().entry(variable);
      // Without an offset, the quotient has a range of its own.
      std::optional<Polynomial> range;
      if (rest.is_zero() && entry.extent && entry.least == 0)
        range = facts().quotient(*entry.extent + divisor - 1, divisor);
      ChangeOfVariable change;
      change.variable = variable;
      change.upper = facts().fresh(range, entry.name + "a");
      change.lower = facts().fresh(divisor, entry.name + "b");
      change.value = divisor * Polynomial::variable(change.upper) + Polynomial::variable(change.lower) - rest;
      return change;
    }
  }
  return std::nullopt;
}

bool add_guard(Constraints& guards, const Constraint& guard, const Constraints& known) {
  Constraints context = known;
  context.insert(context.end(), guards.begin(), guards.end());
  const Constraint simple = facts().simplified(guard, context);
  if (const auto decided = Facts::decided(simple)) return *decided;
  if (simple.kind == Kind::zero) {
    // divisor * a + b = 0 with -divisor < b < divisor: both are 0.
    std::vector<Variable> variables;
    simple.value.collect(variables);
    for (const Variable variable : variables) {
      const auto extent = facts().entry(variable).extent;
      if (!extent || extent->constant()) continue;
      const auto [upper, lower] = simple.value.divided_by(*extent);
      if (upper.is_zero() || lower.is_zero()) continue;
      if (facts().surely(at_least(*extent - 1, lower), context) &&
          facts().surely(at_least(lower, 1 - *extent), context))
        return add_guard(guards, {Kind::zero, upper}, known) && add_guard(guards, {Kind::zero, lower}, known);
    }
  }
  if (std::find(guards.begin(), guards.end(), simple) != guards.end()) return true;
  if (simple.kind == Kind::non_negative && facts().surely(at_least(0, simple.value), context))
    return add_guard(guards, {Kind::zero, simple.value}, known);
  if (simple.kind == Kind::non_negative) {
    const auto opposite = std::find(guards.begin(), guards.end(), Constraint{Kind::non_negative, -simple.value});
    if (opposite != guards.end()) {
      guards.erase(opposite);
      return add_guard(guards, {Kind::zero, simple.value}, known);
    }
  }
  guards.push_back(simple);
  return true;
}

void simplify_into(std::vector<Term>& terms, Term term, const Constraints& known) {
  Workspace& workspace = Workspace::current();
  if (term.coefficient.is_zero()) return;
  for (bool changed = true; changed;) {
    workspace.step();
    changed = false;
    Constraints guards;
    // Equations first: they decide other guards.
    std::stable_partition(term.guards.begin(), term.guards.end(),
                          [](const Constraint& guard) { return guard.kind == Kind::zero; });
    for (const Constraint& guard : term.guards)
      if (!add_guard(guards, guard, known)) return;
    term.guards = std::move(guards);
    Substitution substitution;
    std::vector<Variable> occurring;
    if (!term.bound.empty()) {
      if (eliminate_fixed(term.bound, term.guards, substitution)) {
        changed = true;
      } else {
        collect_variables(term, occurring);
        changed = split_quotient(term.bound, term.guards, occurring, term.factors, substitution) ||
                  join_pair(term, substitution);
      }
    }
    if (changed) {
      for (Factor& factor : term.factors) factor = substitute(factor, substitution);
      continue;
    }
    // An equation between outer variables replaces one of them by the other.
    Constraints equations = known;
    equations.insert(equations.end(), term.guards.begin(), term.guards.end());
    for (const Constraint& equation : equations) {
      if (equation.kind != Kind::zero) continue;
      std::vector<Variable> variables;
      equation.value.collect(variables);
      std::sort(variables.rbegin(), variables.rend());
      for (const Variable variable : variables) {
        const auto value = is_index(variable) ? solved_for(variable, equation.value) : std::nullopt;
        if (!value) continue;
        for (Constraint& guard : term.guards)
          if (!(guard == equation) && occurs(variable, guard.value))
            guard = substitute(guard, {{variable, *value}}), changed = true;
        for (Factor& factor : term.factors)
          if (occurs(variable, factor)) factor = substitute(factor, {{variable, *value}}), changed = true;
        break;
      }
      if (changed) break;
    }
    if (changed) continue;
    if (settle_quotient(term, equations)) {
      changed = true;
      continue;
    }
    const auto take_out = [&](Variable variable, const Polynomial& count) {
      std::erase(term.bound, variable);
      Factor factor;
      factor.kind = Factor::Kind::size;
      factor.index = {count};
      term.factors.push_back(std::move(factor));
    };
    for (const Variable variable : std::vector<Variable>(term.bound)) {
      const auto extent = facts().entry(variable).extent;
      if (!extent || std::find(occurring.begin(), occurring.end(), variable) != occurring.end()) continue;
      if (facts().entails(known, at_least(*extent, 0)) != Answer::yes) continue;
      take_out(variable, *extent);
    }
    for (const Variable variable : std::vector<Variable>(term.bound))
      if (const auto count = counted(variable, term, known)) take_out(variable, *count);
  }
  if (multiply_functions(terms, term, known)) return;
  if (normalise_sizes(terms, term, known)) terms.push_back(std::move(term));
}

}  // namespace taso::verifier::normal
