#include "verifier/integers/polynomial.h"

#include <algorithm>
#include <numeric>

namespace taso::verifier {
namespace {

constexpr std::size_t most_terms = 400;

std::int64_t checked_add(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) throw ProofLimit("a coefficient overflows");
  return sum;
}

std::int64_t checked_mul(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) throw ProofLimit("a coefficient overflows");
  return product;
}

}  // namespace

bool Monomial::contains(Variable variable) const { return std::binary_search(begin(), end(), variable); }

Monomial Monomial::without(Variable variable) const {
  Monomial result;
  bool found = false;
  for (const Variable factor : *this) {
    if (!found && factor == variable)
      found = true;
    else
      result.factors_[result.size_++] = factor;
  }
  return result;
}

std::optional<Monomial> Monomial::divided_by(const Monomial& divisor) const {
  Monomial result;
  const Variable* next = divisor.begin();
  for (const Variable factor : *this) {
    if (next != divisor.end() && *next == factor)
      ++next;
    else
      result.factors_[result.size_++] = factor;
  }
  if (next != divisor.end()) return std::nullopt;
  return result;
}

Monomial operator*(const Monomial& a, const Monomial& b) {
  if (a.degree() + b.degree() > Monomial::greatest_degree) throw ProofLimit("a product has too many factors");
  Monomial result;
  result.size_ = static_cast<std::uint16_t>(a.size_ + b.size_);
  std::merge(a.begin(), a.end(), b.begin(), b.end(), result.factors_.begin());
  return result;
}

bool Monomial::operator==(const Monomial& other) const {
  return std::equal(begin(), end(), other.begin(), other.end());
}

bool Monomial::operator<(const Monomial& other) const {
  if (size_ != other.size_) return size_ > other.size_;
  return std::lexicographical_compare(begin(), end(), other.begin(), other.end());
}

Polynomial::Polynomial(std::int64_t value) {
  if (value != 0) terms_.push_back({Monomial(), value});
}

Polynomial Polynomial::variable(Variable variable) {
  Polynomial result;
  result.terms_.push_back({Monomial(variable), 1});
  return result;
}

Polynomial Polynomial::of_unsorted(std::vector<Term> terms) {
  std::sort(terms.begin(), terms.end(), [](const Term& a, const Term& b) { return a.monomial < b.monomial; });
  Polynomial result;
  for (const Term& term : terms) {
    if (!result.terms_.empty() && result.terms_.back().monomial == term.monomial)
      result.terms_.back().coefficient = checked_add(result.terms_.back().coefficient, term.coefficient);
    else
      result.terms_.push_back(term);
    if (result.terms_.back().coefficient == 0) result.terms_.pop_back();
  }
  if (result.terms_.size() > most_terms) throw ProofLimit("an index expression grows too large");
  return result;
}

std::optional<std::int64_t> Polynomial::constant() const {
  if (terms_.empty()) return 0;
  if (terms_.size() == 1 && terms_[0].monomial.degree() == 0) return terms_[0].coefficient;
  return std::nullopt;
}

std::int64_t Polynomial::constant_term() const {
  return !terms_.empty() && terms_.back().monomial.degree() == 0 ? terms_.back().coefficient : 0;
}

std::optional<Variable> Polynomial::single_variable() const {
  if (terms_.size() != 1 || terms_[0].coefficient != 1 || terms_[0].monomial.degree() != 1) return std::nullopt;
  return *terms_[0].monomial.begin();
}

bool Polynomial::contains(Variable variable) const {
  return std::any_of(terms_.begin(), terms_.end(), [&](const Term& term) { return term.monomial.contains(variable); });
}

std::size_t Polynomial::degree_in(Variable variable) const {
  std::size_t degree = 0;
  for (const Term& term : terms_)
    degree =
        std::max(degree, static_cast<std::size_t>(std::count(term.monomial.begin(), term.monomial.end(), variable)));
  return degree;
}

void Polynomial::collect(std::vector<Variable>& variables) const {
  for (const Term& term : terms_)
    for (const Variable variable : term.monomial)
      if (std::find(variables.begin(), variables.end(), variable) == variables.end()) variables.push_back(variable);
}

Polynomial operator+(const Polynomial& a, const Polynomial& b) {
  if (a.is_zero()) return b;
  Polynomial result;
  result.terms_.reserve(a.terms_.size() + b.terms_.size());
  auto i = a.terms_.begin(), j = b.terms_.begin();
  while (i != a.terms_.end() || j != b.terms_.end()) {
    if (j == b.terms_.end() || (i != a.terms_.end() && i->monomial < j->monomial)) {
      result.terms_.push_back(*i++);
    } else if (i == a.terms_.end() || j->monomial < i->monomial) {
      result.terms_.push_back(*j++);
    } else {
      const std::int64_t sum = checked_add(i->coefficient, j->coefficient);
      if (sum != 0) result.terms_.push_back({i->monomial, sum});
      ++i, ++j;
    }
  }
  if (result.terms_.size() > most_terms) throw ProofLimit("an index expression grows too large");
  return result;
}

Polynomial Polynomial::operator-() const {
  Polynomial result = *this;
  for (Term& term : result.terms_) term.coefficient = checked_mul(term.coefficient, -1);
  return result;
}

Polynomial operator-(const Polynomial& a, const Polynomial& b) { return a + -b; }

Polynomial operator*(const Polynomial& a, const Polynomial& b) {
  std::vector<Polynomial::Term> terms;
  if (a.terms_.size() * b.terms_.size() > 8 * most_terms) throw ProofLimit("an index expression grows too large");
  terms.reserve(a.terms_.size() * b.terms_.size());
  for (const auto& left : a.terms_)
    for (const auto& right : b.terms_)
      terms.push_back({left.monomial * right.monomial, checked_mul(left.coefficient, right.coefficient)});
  return Polynomial::of_unsorted(std::move(terms));
}

bool Polynomial::operator<(const Polynomial& other) const {
  return std::lexicographical_compare(
      terms_.begin(), terms_.end(), other.terms_.begin(), other.terms_.end(), [](const Term& a, const Term& b) {
        return a.monomial < b.monomial || (a.monomial == b.monomial && a.coefficient < b.coefficient);
      });
}

std::size_t Polynomial::hash() const {
  std::size_t hash = 0x9e3779b97f4a7c15u;
  const auto mix = [&](std::uint64_t value) { hash = (hash ^ value) * 0x100000001b3u + (hash >> 29); };
  for (const Term& term : terms_) {
    mix(static_cast<std::uint64_t>(term.coefficient));
    for (const Variable variable : term.monomial) mix(variable);
  }
  return hash;
}

std::optional<std::pair<Polynomial, Polynomial>> Polynomial::linear_in(Variable variable) const {
  Polynomial factor, rest;
  for (const Term& term : terms_) {
    if (!term.monomial.contains(variable)) {
      rest.terms_.push_back(term);
      continue;
    }
    const Monomial others = term.monomial.without(variable);
    if (others.contains(variable)) return std::nullopt;
    factor.terms_.push_back({others, term.coefficient});
  }
  // Removing one variable from each monomial keeps their order.
  return std::pair(std::move(factor), std::move(rest));
}

Polynomial Polynomial::substitute(Variable variable, const Polynomial& value) const {
  if (!contains(variable)) return *this;
  Polynomial result;
  std::vector<Term> kept;
  for (const Term& term : terms_) {
    if (!term.monomial.contains(variable)) {
      kept.push_back(term);
      continue;
    }
    Monomial others = term.monomial;
    Polynomial product(term.coefficient);
    while (others.contains(variable)) {
      others = others.without(variable);
      product = product * value;
    }
    Polynomial factor;
    factor.terms_.push_back({others, 1});
    result = result + product * factor;
  }
  Polynomial rest;
  rest.terms_ = std::move(kept);
  return result + rest;
}

Polynomial::Division Polynomial::divided_by(const Polynomial& divisor) const {
  Division division;
  if (divisor.is_zero()) return {Polynomial(), *this};
  const Term& lead = divisor.terms_.front();
  Polynomial rest = *this;
  for (std::size_t place = 0; place < rest.terms_.size();) {
    const Term term = rest.terms_[place];
    if (term.coefficient == INT64_MIN) throw ProofLimit("a coefficient overflows");
    const auto others = term.monomial.divided_by(lead.monomial);
    if (!others || term.coefficient % lead.coefficient != 0) {
      ++place;  // terms subtracted later are smaller: this term stays
      continue;
    }
    Polynomial factor;
    factor.terms_.push_back({*others, term.coefficient / lead.coefficient});
    rest = rest - factor * divisor;
    division.quotient = division.quotient + factor;
  }
  division.remainder = std::move(rest);
  return division;
}

std::int64_t Polynomial::content() const {
  std::int64_t divisor = 0;
  for (const Term& term : terms_) {
    if (term.coefficient == INT64_MIN) throw ProofLimit("a coefficient overflows");
    divisor = std::gcd(divisor, term.coefficient);
  }
  return divisor;
}

Polynomial Polynomial::divided_exactly(std::int64_t number) const {
  Polynomial result = *this;
  for (Term& term : result.terms_) term.coefficient /= number;
  return result;
}

Monomial Polynomial::common_monomial() const {
  if (terms_.empty()) return {};
  Monomial common;
  for (const Variable variable : terms_[0].monomial) {
    const Monomial longer = common * Monomial(variable);
    if (std::all_of(terms_.begin(), terms_.end(),
                    [&](const Term& term) { return term.monomial.divided_by(longer).has_value(); }))
      common = longer;
  }
  return common;
}

}  // namespace taso::verifier
