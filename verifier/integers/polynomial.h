// Polynomials with integer coefficients over numbered variables: the index arithmetic of the normal form.
//
// Dim has the same algebra, but interns its text under a lock. Proofs do thousands of operations per millisecond, and
// keep their own variables (indices, bound variables) beside a rule's unknowns.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace taso::verifier {

/// A proof attempt exceeds a limit; the answer is "unknown".
struct ProofLimit : std::runtime_error {
  using std::runtime_error::runtime_error;
};

using Variable = std::uint16_t;  ///< an index into a table of variables

/// A product of variables, sorted, with repetitions.
class Monomial {
 public:
  static constexpr std::size_t greatest_degree = 23;
  Monomial() = default;
  explicit Monomial(Variable variable) : size_(1) { factors_[0] = variable; }

  std::size_t degree() const { return size_; }
  const Variable* begin() const { return factors_.data(); }
  const Variable* end() const { return factors_.data() + size_; }
  bool contains(Variable variable) const;
  /// The monomial without one occurrence of the variable, which must occur.
  Monomial without(Variable variable) const;
  std::optional<Monomial> divided_by(const Monomial& divisor) const;
  friend Monomial operator*(const Monomial& a, const Monomial& b);
  bool operator==(const Monomial& other) const;
  /// Highest degree first, then by variables: compatible with multiplication.
  bool operator<(const Monomial& other) const;

 private:
  std::uint16_t size_ = 0;
  std::array<Variable, greatest_degree> factors_{};
};

/// A polynomial in canonical form: two are equal exactly if their terms are. Throws ProofLimit if a coefficient
/// overflows or the polynomial grows too large.
class Polynomial {
 public:
  struct Term {
    Monomial monomial;
    std::int64_t coefficient = 0;
    bool operator==(const Term&) const = default;
  };

  Polynomial() = default;
  Polynomial(std::int64_t value);  // NOLINT: numbers are polynomials
  static Polynomial variable(Variable variable);

  const std::vector<Term>& terms() const { return terms_; }
  bool is_zero() const { return terms_.empty(); }
  std::optional<std::int64_t> constant() const;  ///< if it is a number
  std::int64_t constant_term() const;
  std::optional<Variable> single_variable() const;  ///< if it is a variable with coefficient 1
  bool contains(Variable variable) const;
  std::size_t degree_in(Variable variable) const;
  /// Appends each variable once, in no particular order.
  void collect(std::vector<Variable>& variables) const;

  friend Polynomial operator+(const Polynomial& a, const Polynomial& b);
  friend Polynomial operator-(const Polynomial& a, const Polynomial& b);
  friend Polynomial operator*(const Polynomial& a, const Polynomial& b);
  Polynomial operator-() const;
  bool operator==(const Polynomial&) const = default;
  bool operator<(const Polynomial& other) const;  ///< an arbitrary order, for sorting
  std::size_t hash() const;

  /// The coefficient of the variable's first power, and the rest; nothing if a higher power occurs.
  std::optional<std::pair<Polynomial, Polynomial>> linear_in(Variable variable) const;
  Polynomial substitute(Variable variable, const Polynomial& value) const;

  struct Division;
  /// p = quotient * divisor + remainder, where no term of the remainder is a multiple of the divisor's leading term.
  Division divided_by(const Polynomial& divisor) const;
  /// The greatest common divisor of the coefficients; 0 for zero.
  std::int64_t content() const;
  Polynomial divided_exactly(std::int64_t number) const;
  /// The largest monomial that divides every term.
  Monomial common_monomial() const;

 private:
  static Polynomial of_unsorted(std::vector<Term> terms);
  std::vector<Term> terms_;  // sorted, no zero coefficients
};

struct Polynomial::Division {
  Polynomial quotient, remainder;
};

}  // namespace taso::verifier
