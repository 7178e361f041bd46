#include "verifier/integers/facts.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include <fmt/format.h>

namespace taso::verifier {
namespace {

constexpr int deepest = 8;
/// Of more factors of a divisor, products are not tried.
constexpr std::size_t most_factors = 5;
constexpr std::size_t longest_name = 400;

std::int64_t floor_quotient(std::int64_t a, std::int64_t b) {
  return a / b - static_cast<std::int64_t>(a % b != 0 && (a < 0) != (b < 0));
}

const Constraint always{Constraint::Kind::non_negative, Polynomial(0)};
const Constraint never{Constraint::Kind::non_negative, Polynomial(-1)};

}  // namespace

Constraint Constraint::negated() const {
  switch (kind) {
    case Kind::non_negative: return {Kind::non_negative, -value - Polynomial(1)};
    case Kind::zero: return {Kind::non_zero, value};
    case Kind::non_zero: break;
  }
  return {Kind::zero, value};
}

Constraint at_least(const Polynomial& a, const Polynomial& b) { return {Constraint::Kind::non_negative, a - b}; }
Constraint equal(const Polynomial& a, const Polynomial& b) { return {Constraint::Kind::zero, a - b}; }

std::optional<bool> Facts::decided(const Constraint& constraint) {
  const auto number = constraint.value.constant();
  if (!number) return std::nullopt;
  switch (constraint.kind) {
    case Constraint::Kind::non_negative: return *number >= 0;
    case Constraint::Kind::zero: return *number == 0;
    case Constraint::Kind::non_zero: break;
  }
  return *number != 0;
}

Facts::Facts(const std::vector<rules::Unknown>& unknowns, const std::vector<rules::Requirement>& hypotheses,
             unsigned effort, bool refining)
    : effort_(effort), refining_(refining) {
  for (const rules::Unknown& unknown : unknowns) {
    unknowns_.emplace(unknown.name, static_cast<Variable>(entries_.size()));
    entries_.push_back({unknown.name, unknown.least, std::nullopt, std::nullopt});
  }
  solve_equations(hypotheses);
}
Facts::~Facts() = default;
Facts::Facts(Facts&&) noexcept = default;

Variable Facts::fresh(std::optional<Polynomial> extent, std::string name) {
  if (entries_.size() >= 60'000) throw ProofLimit("too many variables");
  const bool ranged = extent.has_value();
  entries_.push_back({std::move(name), ranged ? std::optional<std::int64_t>(0) : std::nullopt, std::move(extent), {}});
  return static_cast<Variable>(entries_.size() - 1);
}

bool Facts::occurs(Variable variable, const Polynomial& polynomial) const {
  std::vector<Variable> inside;
  polynomial.collect(inside);
  return std::any_of(inside.begin(), inside.end(), [&](Variable other) {
    if (other == variable) return true;
    const auto& quotient = entries_[other].quotient;
    return quotient && (occurs(variable, quotient->first) || occurs(variable, quotient->second));
  });
}

Polynomial Facts::polynomial(Dim dim) {
  if (const auto number = dim.known()) return Polynomial(*number);
  Polynomial sum;
  for (const DimTerm& term : terms_of(dim)) {
    Polynomial product(term.coefficient);
    for (const DimFactor& factor : term.factors) {
      if (factor.name.empty()) {
        product = product * quotient(polynomial(factor.numerator), polynomial(factor.denominator));
        continue;
      }
      auto known = unknowns_.find(factor.name);
      if (known == unknowns_.end()) {  // nothing is known about it
        known = unknowns_.emplace(factor.name, fresh(std::nullopt, factor.name)).first;
      }
      const auto solved = std::find_if(determined_.begin(), determined_.end(),
                                       [&](const auto& entry) { return entry.first == known->second; });
      product = product * (solved == determined_.end() ? Polynomial::variable(known->second) : solved->second);
    }
    sum = sum + product;
  }
  return sum;
}

void Facts::assume(const Constraint& constraint) {
  const Constraint simple = simplified(constraint);
  if (const auto known = decided(simple)) {
    contradictory_ = contradictory_ || !*known;
    return;
  }
  if (std::find(hypotheses_.begin(), hypotheses_.end(), simple) == hypotheses_.end()) hypotheses_.push_back(simple);
}

void Facts::determine(Variable chosen, const Polynomial& solution) {
  for (auto& [variable, value] : determined_) value = value.substitute(chosen, solution);
  determined_.emplace_back(chosen, solution);
}

// Two factorisations of a number have a common refinement: x y = u v exactly if x = ab, y = cd, u = ac, v = bd for some
// positive a, b, c, d, and so on for more factors.
bool Facts::refine(const Polynomial& zero) {
  if (zero.terms().size() != 2) return false;
  const auto &first = zero.terms()[0], &second = zero.terms()[1];
  if (first.coefficient * second.coefficient != -1) return false;
  const Monomial left = first.monomial, right = second.monomial;
  if (left.degree() < 2 || right.degree() < 2 || left.degree() * right.degree() > 9) return false;
  std::vector<Variable> factors(left.begin(), left.end());
  factors.insert(factors.end(), right.begin(), right.end());
  for (const Variable factor : factors) {
    if (std::count(factors.begin(), factors.end(), factor) > 1) return false;
    if (entries_[factor].quotient || entries_[factor].least.value_or(0) < 1) return false;
    if (std::any_of(entries_.begin(), entries_.end(), [&](const Entry& entry) {
          return entry.quotient && (occurs(factor, entry.quotient->first) || occurs(factor, entry.quotient->second));
        }))
      return false;
  }
  refinable_ = true;
  if (!refining_) return false;
  std::vector<Polynomial> rows(left.degree(), 1), columns(right.degree(), 1);
  for (Polynomial& row : rows)
    for (Polynomial& column : columns) {
      const Variable part = fresh(std::nullopt, fmt::format("f{}", entries_.size()));
      entries_[part].least = 1;
      row = row * Polynomial::variable(part);
      column = column * Polynomial::variable(part);
    }
  for (std::size_t i = 0; i < rows.size(); ++i) determine(left.begin()[i], rows[i]);
  for (std::size_t i = 0; i < columns.size(); ++i) determine(right.begin()[i], columns[i]);
  return true;
}

// Equations determine unknowns; a divisibility is an equation with a new unknown. The rest is assumed unchanged.
void Facts::solve_equations(const std::vector<rules::Requirement>& hypotheses) {
  struct Equation {
    Dim left, right;
    std::optional<Variable> factor;  // left * factor = right
  };
  std::vector<Equation> equations;
  const auto add_multiple = [&](Dim divisor, Dim whole) {
    const Variable factor = fresh(std::nullopt, fmt::format("k{}", entries_.size()));
    if (surely(at_least(polynomial(divisor), 1)) && surely(at_least(polynomial(whole), 1))) entries_[factor].least = 1;
    equations.push_back({divisor, whole, factor});
  };
  const auto assume_inequalities = [&] {
    hypotheses_.clear();
    for (const auto& [variable, value] : determined_)
      if (const auto& least = entries_[variable].least) assume(at_least(value, *least));
    for (const rules::Requirement& requirement : hypotheses) {
      if (requirement.kind == rules::Requirement::Kind::at_least)
        assume(at_least(polynomial(requirement.left), polynomial(requirement.right)));
      if (requirement.kind == rules::Requirement::Kind::not_equal)
        assume({Constraint::Kind::non_zero, polynomial(requirement.left) - polynomial(requirement.right)});
    }
  };
  assume_inequalities();
  for (const rules::Requirement& requirement : hypotheses) {
    if (requirement.kind == rules::Requirement::Kind::divides) add_multiple(requirement.left, requirement.right);
    if (requirement.kind != rules::Requirement::Kind::equal) continue;
    equations.push_back({requirement.left, requirement.right, {}});
    // a = b floor(a / b) says that b divides a.
    const Dim zero = requirement.left - requirement.right;
    for (const DimTerm& term : terms_of(zero))
      for (const DimFactor& factor : term.factors) {
        if (!factor.name.empty() || !surely(at_least(polynomial(factor.denominator), 1))) continue;
        const Dim rest = factor.numerator - factor.denominator * floor_div(factor.numerator, factor.denominator);
        if (zero == rest || zero == Dim(0) - rest) add_multiple(factor.denominator, factor.numerator);
      }
  }
  const auto difference = [&](const Equation& equation) {
    Polynomial left = polynomial(equation.left);
    if (equation.factor) {
      const auto solved = std::find_if(determined_.begin(), determined_.end(),
                                       [&](const auto& entry) { return entry.first == *equation.factor; });
      left = left * (solved == determined_.end() ? Polynomial::variable(*equation.factor) : solved->second);
    }
    return simplified(equal(left, polynomial(equation.right))).value;
  };
  for (bool progress = true; progress;) {
    progress = false;
    for (const Equation& equation : equations) {
      const Polynomial zero = difference(equation);
      std::vector<Variable> variables;
      zero.collect(variables);
      std::sort(variables.begin(), variables.end());
      std::optional<Variable> chosen;
      Polynomial solution;
      bool bounded_solution = false;
      // A product of positive numbers is 1 only if each of them is.
      if (zero.terms().size() == 2 && zero.terms()[0].coefficient == 1 && zero.constant_term() == -1)
        for (const Variable variable : zero.terms()[0].monomial)
          if (entries_[variable].least.value_or(0) >= 1 && !entries_[variable].quotient) {
            chosen = variable, solution = 1, bounded_solution = true;
            break;
          }
      // A sum of non-negative parts is 0 only if each part is.
      const auto plus = [&](const auto& term) {
        return (term.coefficient > 0) == (zero.terms()[0].coefficient > 0) && term.monomial.degree() > 0;
      };
      const auto from_zero = [&](Variable variable) { return entries_[variable].least.value_or(-1) >= 0; };
      if (!zero.is_zero() && std::all_of(zero.terms().begin(), zero.terms().end(), plus) &&
          std::all_of(variables.begin(), variables.end(), from_zero))
        for (const auto& term : zero.terms())
          if (term.monomial.degree() == 1 && !entries_[*term.monomial.begin()].quotient && !bounded_solution)
            chosen = *term.monomial.begin(), solution = 0, bounded_solution = true;
      for (const Variable variable : variables) {
        if (bounded_solution || entries_[variable].quotient) continue;
        const auto linear = zero.linear_in(variable);
        if (!linear || occurs(variable, linear->second)) continue;
        const auto& [factor, rest] = *linear;
        const auto division = rest.divided_by(factor);
        if (!division.remainder.is_zero()) continue;
        if (!surely(at_least(factor, 1)) && !surely(at_least(-factor, 1))) continue;
        const Polynomial value = -division.quotient;
        if (occurs(variable, value)) continue;
        const auto& least = entries_[variable].least;
        const bool safe = !least || surely(at_least(value, *least));
        if (chosen && !safe) continue;
        chosen = variable, solution = value, bounded_solution = safe;
      }
      if (!chosen) continue;
      determine(*chosen, solution);
      progress = true;
    }
    if (!progress)
      progress = std::any_of(equations.begin(), equations.end(),
                             [&](const Equation& equation) { return refine(difference(equation)); });
    assume_inequalities();
  }
  hypotheses_.clear();
  for (const Equation& equation : equations) {
    assume({Constraint::Kind::zero, difference(equation)});
    if (equation.factor) assume(at_least(polynomial(equation.left), 1));
  }
  const Constraints solved = std::move(hypotheses_);
  assume_inequalities();
  hypotheses_.insert(hypotheses_.begin(), solved.begin(), solved.end());
}

Polynomial Facts::quotient(const Polynomial& numerator, const Polynomial& denominator,
                           std::span<const Constraint> guards) {
  if (denominator == Polynomial(1)) return numerator;
  const auto atom = [&](const Polynomial& above, bool positive) {
    const auto known = quotients_.find({above, denominator});
    if (known != quotients_.end()) return Polynomial::variable(known->second);
    const Variable result = fresh(std::nullopt, "");
    entries_[result].name = fmt::format("floor(({})/({}))", text(above), text(denominator));
    // The name of a quotient of quotients may be twice as long as theirs.
    if (entries_[result].name.size() > longest_name) entries_[result].name = fmt::format("floor{}", result);
    entries_[result].quotient = {above, denominator};
    entries_[result].divides = positive;
    if (positive && surely(at_least(above, denominator)))
      entries_[result].least = 1;
    else if (positive && surely(at_least(above, 0)))
      entries_[result].least = 0;
    if (const auto variable = above.single_variable(); positive && variable && entries_[*variable].extent) {
      const auto extent = entries_[*variable].extent->divided_by(denominator);
      if (extent.remainder.is_zero()) entries_[result].extent = extent.quotient;
    }
    quotients_.emplace(std::pair(above, denominator), result);
    return Polynomial::variable(result);
  };
  if (!surely(at_least(denominator, 1))) return atom(numerator, false);
  const auto [whole, rest] = numerator.divided_by(denominator);
  if (rest.is_zero()) return whole;
  if (surely(at_least(rest, 0), guards) && surely(at_least(denominator - 1, rest), guards)) return whole;
  if (surely(at_least(-1, rest), guards) && surely(at_least(rest, -denominator), guards)) return whole - 1;
  if (const auto below = denominator.constant(); below && *below > 1) {
    // A coefficient that the divisor does not divide leaves its integer part outside.
    Polynomial outside, inside;
    for (const auto& term : rest.terms()) {
      Polynomial product(1);
      for (const Variable variable : term.monomial) product = product * Polynomial::variable(variable);
      const std::int64_t part = floor_quotient(term.coefficient, *below);
      outside = outside + Polynomial(part) * product;
      inside = inside + Polynomial(term.coefficient - part * *below) * product;
    }
    if (inside.constant() || !outside.is_zero()) return whole + outside + quotient(inside, denominator, guards);
  }
  // floor((f a + b) / (f c)) = floor(a / c) where 0 <= b < f: one factor of the divisor after the other.
  if (!denominator.constant()) {
    const Monomial common = denominator.common_monomial();
    std::vector<Polynomial> factors;
    Polynomial other = denominator;
    for (const Variable variable : common) {
      factors.push_back(Polynomial::variable(variable));
      other = other.divided_by(factors.back()).quotient;
    }
    const std::int64_t number = other.content();
    if (const Polynomial sum = other.divided_exactly(number); !sum.constant() && sum != denominator)
      factors.push_back(sum);
    // Products of these, too; of many factors, only the factors themselves.
    if (const std::size_t single = factors.size(); single >= 2 && single <= most_factors)
      for (std::size_t chosen = 1; chosen < std::size_t{1} << single; ++chosen) {
        Polynomial product(1);
        for (std::size_t i = 0; i < single; ++i)
          if ((chosen >> i & 1) != 0) product = product * factors[i];
        if (std::popcount(chosen) >= 2 && product != denominator) factors.push_back(product);
      }
    for (const std::int64_t divisor : {number, number / 2}) {
      if (divisor <= 1 || number % divisor != 0) continue;
      for (std::size_t i = factors.size(); i-- > 0;)
        if (const Polynomial product = divisor * factors[i]; product != denominator) factors.push_back(product);
    }
    for (const Polynomial& factor : factors) {
      const auto [upper, lower] = rest.divided_by(factor);
      if (surely(at_least(factor, 1)) && surely(at_least(lower, 0), guards) &&
          surely(at_least(factor - 1, lower), guards))
        return whole + quotient(upper, denominator.divided_by(factor).quotient, guards);
    }
  }
  const std::int64_t common = std::gcd(rest.content(), denominator.content());
  if (common > 1) return whole + quotient(rest.divided_exactly(common), denominator.divided_exactly(common), guards);
  return whole + atom(rest, true);
}

std::string Facts::text(const Polynomial& polynomial) const {
  if (polynomial.is_zero()) return "0";
  std::string text;
  for (const auto& term : polynomial.terms()) {
    std::string product;
    for (const Variable variable : term.monomial) product += (product.empty() ? "" : "*") + entries_[variable].name;
    const bool negative = term.coefficient < 0;
    const std::int64_t magnitude = negative ? -term.coefficient : term.coefficient;
    if (product.empty() || magnitude != 1) product = std::to_string(magnitude) + (product.empty() ? "" : "*") + product;
    text += (text.empty() ? (negative ? "-" : "") : (negative ? " - " : " + ")) + product;
  }
  return text;
}

std::string Facts::text(const Constraint& constraint) const {
  constexpr const char* relations[] = {">=", "=", "!="};
  return fmt::format("{} {} 0", text(constraint.value), relations[static_cast<int>(constraint.kind)]);
}

bool Facts::bounded(const Polynomial& polynomial, int depth) const {
  if (const auto number = polynomial.constant()) return *number >= 0;
  // If no coefficient is negative, the least values of the variables give the least value.
  std::int64_t least_value = polynomial.constant_term();
  bool rising = true;
  for (const auto& term : polynomial.terms()) {
    if (term.monomial.degree() == 0) continue;
    rising = term.coefficient > 0;
    std::int64_t product = term.coefficient;
    for (const Variable variable : term.monomial) {
      const auto& least = entries_[variable].least;
      rising = rising && least && *least >= 0 && !__builtin_mul_overflow(product, *least, &product);
    }
    rising = rising && !__builtin_add_overflow(least_value, product, &least_value);
    if (!rising) break;
  }
  if (rising) return least_value >= 0;
  std::vector<Variable> variables;
  polynomial.collect(variables);
  // Counted from the variables' least values, no coefficient may be negative. This is possible only if each subtracted
  // monomial divides an added one.
  const auto outweighed = [&](const Polynomial::Term& term) {
    return term.coefficient > 0 ||
           std::any_of(polynomial.terms().begin(), polynomial.terms().end(), [&](const auto& other) {
             return other.coefficient > 0 && other.monomial.divided_by(term.monomial).has_value();
           });
  };
  std::size_t size = 0;
  for (const auto& term : polynomial.terms())
    size += std::size_t{1} << std::min<std::size_t>(term.monomial.degree(), 10);
  if (size <= 300 && std::all_of(polynomial.terms().begin(), polynomial.terms().end(), outweighed) &&
      std::all_of(variables.begin(), variables.end(), [&](Variable v) { return entries_[v].least.has_value(); })) {
    Polynomial shifted = polynomial;
    for (const Variable variable : variables)
      if (const std::int64_t least = *entries_[variable].least; least != 0)
        shifted = shifted.substitute(variable, Polynomial::variable(variable) + Polynomial(least));
    if (std::all_of(shifted.terms().begin(), shifted.terms().end(),
                    [](const auto& term) { return term.coefficient > 0; }))
      return true;
  }
  if (depth == 0) return false;
  std::sort(variables.begin(), variables.end(), std::greater<>());  // later ones may depend on earlier ones
  for (const Variable variable : variables) {
    const Entry& entry = entries_[variable];
    if (!entry.extent && !entry.divides) continue;
    const auto linear = polynomial.linear_in(variable);
    if (!linear) continue;
    const auto& [factor, rest] = *linear;
    const bool falls = bounded(-factor, depth - 1);
    const bool rises = !falls && bounded(factor, depth - 1);
    if (!falls && !rises) continue;
    if (entry.extent && entry.least == 0 && !entry.quotient)
      return bounded(falls ? factor * (*entry.extent - 1) + rest : rest, depth - 1);
    if (!entry.divides) continue;
    // divisor * quotient lies between numerator - divisor + 1 and numerator.
    const auto& [numerator, divisor] = *entry.quotient;
    if (const auto exact = factor.divided_by(divisor); exact.remainder.is_zero()) {
      if (bounded(exact.quotient * (falls ? numerator : numerator - divisor + 1) + rest, depth - 1)) return true;
    }
    if (entry.least == 0 && rises && bounded(rest, depth - 1)) return true;
    if (entry.least == 0 && falls && bounded(factor * numerator + rest, depth - 1)) return true;
    if (entry.extent && falls && bounded(factor * (*entry.extent - 1) + rest, depth - 1)) return true;
  }
  return false;
}

bool Facts::non_negative(const Polynomial& polynomial, std::span<const Constraint> guards, int depth) const {
  const auto known_bound = bounds_.find(polynomial);
  const bool by_bounds =
      known_bound != bounds_.end() ? known_bound->second : (bounds_[polynomial] = bounded(polynomial, deepest));
  if (by_bounds) return true;
  if (polynomial.constant() || depth == 0) return false;
  // A guard helps if it shares a monomial with the polynomial: once, or as often as makes that monomial vanish.
  std::int64_t times = 1;
  const auto shares = [&](const Polynomial& known, bool same_sign) {
    times = 1;
    auto i = polynomial.terms().begin(), j = known.terms().begin();
    while (i != polynomial.terms().end() && j != known.terms().end()) {
      if (i->monomial == j->monomial) {
        if (i->monomial.degree() > 0 && ((i->coefficient > 0) == (j->coefficient > 0)) == same_sign) {
          times = same_sign && i->coefficient % j->coefficient == 0 ? i->coefficient / j->coefficient : 1;
          return true;
        }
        ++i, ++j;
      } else if (i->monomial < j->monomial) {
        ++i;
      } else {
        ++j;
      }
    }
    return false;
  };
  // Hypotheses about unknowns may help only after indices are eliminated, so this shortcut is not for them.
  bool any = false;
  const auto helps = [&](const Constraint& known) {
    switch (known.kind) {
      case Constraint::Kind::non_negative:
        if (!any && !shares(known.value, true)) return false;
        return bounded(polynomial - known.value, deepest) ||
               (!any && times > 1 && bounded(polynomial - times * known.value, deepest));
      case Constraint::Kind::zero:
        return ((any || shares(known.value, true)) && bounded(polynomial - known.value, deepest)) ||
               ((any || shares(known.value, false)) && bounded(polynomial + known.value, deepest));
      case Constraint::Kind::non_zero: break;
    }
    return false;
  };
  if (std::any_of(guards.begin(), guards.end(), helps)) return true;
  any = true;
  return std::any_of(hypotheses_.begin(), hypotheses_.end(), helps);
}

bool Facts::surely(const Constraint& constraint, std::span<const Constraint> guards) const {
  const Polynomial& value = constraint.value;
  switch (constraint.kind) {
    case Constraint::Kind::non_negative: return non_negative(value, guards, 1);
    case Constraint::Kind::zero:
      return value.is_zero() ||
             (!value.constant() && non_negative(value, guards, 1) && non_negative(-value, guards, 1));
    case Constraint::Kind::non_zero: break;
  }
  if (std::find(guards.begin(), guards.end(), constraint) != guards.end()) return true;
  return non_negative(value - 1, guards, 1) || non_negative(-value - 1, guards, 1);
}

Constraint Facts::simplified(const Constraint& constraint, std::span<const Constraint> guards) {
  Constraint result = constraint;
  Polynomial& value = result.value;
  for (bool changed = true; changed;) {
    changed = false;
    if (const auto known = decided(result)) return *known ? always : never;
    // Positive factors do not matter.
    for (const Variable variable : value.common_monomial())
      if (entries_[variable].least.value_or(0) >= 1) {
        value = value.divided_by(Polynomial::variable(variable)).quotient;
        changed = true;
      }
    const std::int64_t constant = value.constant_term();
    const std::int64_t content = (value - constant).content();
    if (content > 1) {
      if (result.kind == Constraint::Kind::non_negative) {
        value = (value - constant).divided_exactly(content) + floor_quotient(constant, content);
        changed = true;
      } else if (constant % content == 0) {
        value = value.divided_exactly(content);
        changed = true;
      } else {
        return result.kind == Constraint::Kind::zero ? never : always;
      }
    }
    if (result.kind == Constraint::Kind::non_negative) {
      // e a + b >= 0 is a >= 0 if 0 <= b < e: positions in mixed radix.
      std::vector<Variable> variables;
      value.collect(variables);
      std::vector<Polynomial> radices;
      for (const Variable variable : variables) {
        if (entries_[variable].extent) radices.push_back(*entries_[variable].extent);
        if (!entries_[variable].extent && entries_[variable].least.value_or(0) >= 1)
          radices.push_back(Polynomial::variable(variable));
      }
      for (const Polynomial& radix : radices) {
        if (radix.constant()) continue;
        const auto [upper, lower] = value.divided_by(radix);
        if (upper.is_zero() || upper.constant() || lower.is_zero()) continue;
        if (!surely(at_least(radix, 1))) continue;
        if (surely(at_least(lower, 0), guards) && surely(at_least(radix - 1, lower), guards))
          value = upper;
        else if (surely(at_least(-1, lower), guards) && surely(at_least(lower, -radix), guards))
          value = upper - 1;
        else
          continue;
        changed = true;
        break;
      }
    }
  }
  if (result.kind != Constraint::Kind::non_negative && !value.is_zero() && value.terms()[0].coefficient < 0)
    value = -value;
  if (surely(result, guards)) return always;
  if (surely(result.negated(), guards)) return never;
  return result;
}

}  // namespace taso::verifier
