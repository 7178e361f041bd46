#include "verifier/normal_form/sum.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "ops/core/error.h"

namespace taso::verifier::normal {
namespace {

constexpr std::size_t most_terms = 512;

std::int64_t multiplied(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) throw ProofLimit("a coefficient overflows");
  return product;
}

Rational reduced(std::int64_t numerator, std::int64_t denominator) {
  if (numerator == std::numeric_limits<std::int64_t>::min() || denominator == std::numeric_limits<std::int64_t>::min())
    throw ProofLimit("a coefficient overflows");
  if (denominator < 0) numerator = -numerator, denominator = -denominator;
  const std::int64_t common = std::gcd(numerator, denominator);
  return common == 0 ? Rational{0, 1} : Rational{numerator / common, denominator / common};
}

thread_local Workspace* current_workspace = nullptr;

Term of_factor(Factor factor) {
  Term term;
  term.factors.push_back(std::move(factor));
  return term;
}

Sum sum_of(Term term) {
  Sum sum;
  sum.terms.push_back(std::move(term));
  return sum;
}

}  // namespace

Rational operator+(Rational a, Rational b) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(multiplied(a.numerator, b.denominator), multiplied(b.numerator, a.denominator), &sum))
    throw ProofLimit("a coefficient overflows");
  return reduced(sum, multiplied(a.denominator, b.denominator));
}
Rational operator*(Rational a, Rational b) {
  return reduced(multiplied(a.numerator, b.numerator), multiplied(a.denominator, b.denominator));
}
Rational operator-(Rational a) { return reduced(multiplied(a.numerator, -1), a.denominator); }
Rational inverse(Rational a) {
  check(a.numerator != 0, "zero has no inverse");
  return reduced(a.denominator, a.numerator);
}

Workspace::Workspace(const std::vector<rules::Unknown>& unknowns, const std::vector<rules::Requirement>& hypotheses,
                     unsigned effort, std::size_t steps, std::stop_token stop, bool refining)
    : facts(unknowns, hypotheses, effort, refining), steps_(steps), stop_(std::move(stop)), outer_(current_workspace) {
  current_workspace = this;
  facts.stop_on(stop_);
}
Workspace::~Workspace() { current_workspace = outer_; }

Workspace& Workspace::current() {
  check(current_workspace != nullptr, "sums are made in a workspace");
  return *current_workspace;
}

void Workspace::step(std::size_t count) {
  if (steps_ < count) throw ProofLimit("the limit on steps is reached");
  steps_ -= count;
  if (stop_.stop_requested()) throw ProofLimit("stopped");
}

std::size_t Workspace::real(const std::string& name) {
  const auto known = std::find(reals.begin(), reals.end(), name);
  if (known != reals.end()) return static_cast<std::size_t>(known - reals.begin());
  reals.push_back(name);
  return reals.size() - 1;
}

const Polynomial* find(const Substitution& substitution, Variable variable) {
  for (const auto& [replaced, value] : substitution)
    if (replaced == variable) return &value;
  return nullptr;
}

bool occurs(Variable variable, const Polynomial& polynomial) {
  const Facts& facts = Workspace::current().facts;
  for (const auto& term : polynomial.terms())
    for (const Variable other : term.monomial) {
      if (other == variable) return true;
      const auto& quotient = facts.entry(other).quotient;
      if (quotient && (occurs(variable, quotient->first) || occurs(variable, quotient->second))) return true;
    }
  return false;
}

bool occurs_any(const std::vector<Variable>& variables, const Polynomial& polynomial) {
  return std::any_of(variables.begin(), variables.end(), [&](Variable v) { return occurs(v, polynomial); });
}

namespace {

bool occurs_in_guards(Variable variable, const Constraints& guards) {
  return std::any_of(guards.begin(), guards.end(),
                     [&](const Constraint& g) { return normal::occurs(variable, g.value); });
}

bool occurs_in_sum(Variable variable, const Sum& sum) {
  return std::any_of(sum.terms.begin(), sum.terms.end(), [&](const Term& term) {
    return occurs_in_guards(variable, term.guards) ||
           std::any_of(term.factors.begin(), term.factors.end(),
                       [&](const Factor& f) { return normal::occurs(variable, f); });
  });
}

}  // namespace

bool occurs(Variable variable, const Factor& factor) {
  return std::any_of(factor.index.begin(), factor.index.end(), [&](const auto& p) { return occurs(variable, p); }) ||
         std::any_of(factor.operands.begin(), factor.operands.end(),
                     [&](const auto& s) { return occurs_in_sum(variable, *s); }) ||
         std::any_of(factor.alternatives.begin(), factor.alternatives.end(), [&](const Alternative& alternative) {
           return occurs_in_guards(variable, alternative.guards) || occurs_in_sum(variable, *alternative.body);
         });
}

Polynomial substitute(const Polynomial& polynomial, const Substitution& substitution) {
  Facts& facts = Workspace::current().facts;
  if (std::none_of(substitution.begin(), substitution.end(),
                   [&](const auto& entry) { return occurs(entry.first, polynomial); }))
    return polynomial;
  Polynomial sum;
  for (const auto& term : polynomial.terms()) {
    Polynomial product(term.coefficient);
    for (const Variable variable : term.monomial) {
      if (const Polynomial* value = find(substitution, variable)) {
        product = product * *value;
        continue;
      }
      const auto quotient = facts.entry(variable).quotient;
      if (quotient && std::any_of(substitution.begin(), substitution.end(), [&](const auto& entry) {
            return occurs(entry.first, quotient->first) || occurs(entry.first, quotient->second);
          }))
        product = product *
                  facts.quotient(substitute(quotient->first, substitution), substitute(quotient->second, substitution));
      else
        product = product * Polynomial::variable(variable);
    }
    sum = sum + product;
  }
  return sum;
}

Constraint substitute(const Constraint& constraint, const Substitution& substitution) {
  return {constraint.kind, substitute(constraint.value, substitution)};
}

namespace {

// Renames binders that the substitution mentions, to avoid capture.
Substitution avoiding(std::vector<Variable>& bound, const Substitution& substitution) {
  Facts& facts = Workspace::current().facts;
  Substitution result = substitution;
  for (Variable& variable : bound) {
    const bool mentioned = std::any_of(substitution.begin(), substitution.end(), [&](const auto& entry) {
      return entry.first == variable || normal::occurs(variable, entry.second);
    });
    if (!mentioned) continue;
    const Facts::Entry entry = facts.entry(variable);
    const Variable other = facts.fresh(entry.extent, entry.name);
    std::erase_if(result, [&](const auto& replaced) { return replaced.first == variable; });
    result.emplace_back(variable, Polynomial::variable(other));
    variable = other;
  }
  return result;
}

}  // namespace

Factor substitute(const Factor& factor, const Substitution& substitution) {
  Factor result = factor;
  for (Polynomial& index : result.index) index = substitute(index, substitution);
  for (SumPtr& operand : result.operands) operand = substitute(operand, substitution);
  for (Alternative& alternative : result.alternatives) alternative = substitute(alternative, substitution);
  return result;
}

Alternative substitute(const Alternative& alternative, const Substitution& substitution) {
  Alternative result = alternative;
  const Substitution safe = avoiding(result.bound, substitution);
  for (Constraint& guard : result.guards) guard = substitute(guard, safe);
  result.body = substitute(result.body, safe);
  return result;
}

Term substitute(const Term& term, const Substitution& substitution) {
  Term result = term;
  const Substitution safe = avoiding(result.bound, substitution);
  for (Constraint& guard : result.guards) guard = substitute(guard, safe);
  for (Factor& factor : result.factors) factor = substitute(factor, safe);
  return result;
}

SumPtr substitute(const SumPtr& sum, const Substitution& substitution) {
  if (std::none_of(substitution.begin(), substitution.end(),
                   [&](const auto& entry) { return occurs_in_sum(entry.first, *sum); }))
    return sum;
  Sum result;
  for (const Term& term : sum->terms) simplify_into(result.terms, substitute(term, substitution), {});
  return std::make_shared<const Sum>(std::move(result));
}

Term renamed(const Term& term) {
  if (term.bound.empty()) return term;
  Substitution identity;  // mentions all binders, so that all are renamed
  for (const Variable variable : term.bound) identity.emplace_back(variable, Polynomial::variable(variable));
  return substitute(term, identity);
}

Sum constant(Rational value) {
  if (value.is_zero()) return {};
  Term term;
  term.coefficient = value;
  return sum_of(std::move(term));
}

Sum constant(double value) {
  if (!std::isfinite(value)) throw ProofLimit("a constant is not finite");
  // Simple fractions are numbers. Others, such as 0.044715, are named reals, because their exact fractions are huge.
  const double scaled_up = std::ldexp(value, 16);
  if (scaled_up == std::nearbyint(scaled_up) && std::abs(scaled_up) < std::ldexp(1.0, 40))
    return constant(reduced(static_cast<std::int64_t>(scaled_up), 1 << 16));
  if (value < 0) return scaled(constant(-value), {-1, 1});
  return real_attribute(fmt::format("{:a}", value));
}

Sum real_attribute(const std::string& name) {
  Factor factor;
  factor.kind = Factor::Kind::real;
  factor.head = Workspace::current().real(name);
  return sum_of(of_factor(std::move(factor)));
}

Sum access(std::size_t input, std::vector<Polynomial> index) {
  Factor factor;
  factor.head = input;
  factor.index = std::move(index);
  return sum_of(of_factor(std::move(factor)));
}

Sum reciprocal_of_size(const Polynomial& size) {
  if (Workspace::current().facts.entails({}, at_least(size, 1)) != Answer::yes)
    throw ProofLimit("a size is not known to be positive");
  Factor factor;
  factor.kind = Factor::Kind::reciprocal;
  factor.index = {size};
  return simplified(sum_of(of_factor(std::move(factor))));
}

Sum guarded(const Sum& sum, const Constraints& guards) {
  Sum result;
  for (Term term : sum.terms) {
    term.guards.insert(term.guards.end(), guards.begin(), guards.end());
    simplify_into(result.terms, std::move(term), {});
  }
  return result;
}

Sum iterated(const Sum& sum, const std::vector<Variable>& variables) {
  Sum result;
  for (Term term : sum.terms) {
    term.bound.insert(term.bound.end(), variables.begin(), variables.end());
    simplify_into(result.terms, std::move(term), {});
  }
  return result;
}

Sum operator+(const Sum& a, const Sum& b) {
  Sum result = a;
  if (a.terms.size() + b.terms.size() > most_terms) throw ProofLimit("a sum grows too large");
  result.terms.insert(result.terms.end(), b.terms.begin(), b.terms.end());
  return result;
}

Sum scaled(const Sum& sum, Rational factor) {
  if (factor.is_zero()) return {};
  Sum result = sum;
  for (Term& term : result.terms) term.coefficient = term.coefficient * factor;
  return result;
}

Sum operator-(const Sum& a, const Sum& b) { return a + scaled(b, {-1, 1}); }

Sum operator*(const Sum& a, const Sum& b) {
  if (a.terms.size() * b.terms.size() > most_terms) throw ProofLimit("a product grows too large");
  Sum result;
  for (const Term& left : a.terms)
    for (const Term& right : b.terms) {
      Workspace::current().step();
      Term product = renamed(left);
      const Term other = renamed(right);
      product.coefficient = product.coefficient * other.coefficient;
      product.bound.insert(product.bound.end(), other.bound.begin(), other.bound.end());
      product.guards.insert(product.guards.end(), other.guards.begin(), other.guards.end());
      product.factors.insert(product.factors.end(), other.factors.begin(), other.factors.end());
      simplify_into(result.terms, std::move(product), {});
    }
  return result;
}

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

Sum single(Factor factor) { return sum_of(of_factor(std::move(factor))); }

Sum simplified(const Sum& sum, const Constraints& known) {
  Sum result;
  for (const Term& term : sum.terms) simplify_into(result.terms, term, known);
  return result;
}

std::string text(const Term& term) {
  const Facts& facts = Workspace::current().facts;
  std::string text = term.coefficient.denominator == 1
                         ? std::to_string(term.coefficient.numerator)
                         : fmt::format("{}/{}", term.coefficient.numerator, term.coefficient.denominator);
  const auto binders = [&](const std::vector<Variable>& bound) {
    std::string list;
    for (const Variable variable : bound) {
      const auto& extent = facts.entry(variable).extent;
      list += fmt::format(" {}{}", facts.entry(variable).name, variable);
      if (extent) list += " < " + facts.text(*extent);
    }
    return list;
  };
  const auto conditions = [&](const Constraints& guards) {
    std::string list;
    for (const Constraint& guard : guards) list += fmt::format(" [{}]", facts.text(guard));
    return list;
  };
  if (!term.bound.empty()) text += " Sum{" + binders(term.bound) + " }";
  text += conditions(term.guards);
  constexpr const char* functions[] = {"reciprocal", "exp", "erf", "tanh", "sqrt", "pow"};
  for (const Factor& factor : term.factors) {
    text += ' ';
    switch (factor.kind) {
      case Factor::Kind::access:
        text += fmt::format("x{}[", factor.head);
        for (const Polynomial& index : factor.index)
          text += facts.text(index) + (&index == &factor.index.back() ? "" : ", ");
        text += "]";
        break;
      case Factor::Kind::real: text += Workspace::current().reals[factor.head]; break;
      case Factor::Kind::size: text += "(" + facts.text(factor.index[0]) + ")"; break;
      case Factor::Kind::reciprocal: text += "1/(" + facts.text(factor.index[0]) + ")"; break;
      case Factor::Kind::function:
        text += factor.head < std::size(functions) ? functions[factor.head]
                                                   : fmt::format("f{}", factor.head - std::size(functions) + 1);
        for (const SumPtr& operand : factor.operands) text += "(" + normal::text(*operand) + ")";
        break;
      case Factor::Kind::maximum:
        text += "max{";
        for (const Alternative& alternative : factor.alternatives)
          text += binders(alternative.bound) + conditions(alternative.guards) + ": " + normal::text(*alternative.body) +
                  "; ";
        text += "}";
        break;
    }
  }
  return text;
}

std::string text(const Sum& sum) {
  std::string result;
  for (const Term& term : sum.terms) result += (result.empty() ? "" : " + ") + text(term);
  return result.empty() ? "0" : result;
}

}  // namespace taso::verifier::normal
