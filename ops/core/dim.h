// A dimension of a shape: a number, or a polynomial over named unknowns that stand for every value from 1 on.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ops/core/namespace.h"

namespace taso::ops {

struct DimExpression;

/// Small, trivially copyable and canonical: two dimensions are equal exactly if their polynomials are. Symbolic forms
/// are interned for the life of the program. Arithmetic that overflows throws ShapeError.
class Dim {
 public:
  constexpr Dim(std::int64_t value = 0) : value_(value) {}  // NOLINT: numbers are dimensions
  static Dim symbol(std::string_view name);

  bool is_static() const { return expression_ == nullptr; }
  /// The number; the dimension must be static.
  std::int64_t value() const;
  std::optional<std::int64_t> known() const { return is_static() ? std::optional(value_) : std::nullopt; }
  /// The number that results when `binding` gives each unknown its value.
  std::int64_t evaluate(const std::function<std::int64_t(std::string_view)>& binding) const;
  /// The names of the unknowns, sorted and without repetitions.
  std::vector<std::string> symbols() const;
  /// "3", "N", "2*N*T + 1", "floor((H + 1)/2)"; a name that is not an identifier is quoted.
  std::string text() const;

  bool operator==(const Dim&) const = default;
  std::size_t hash() const;

 private:
  friend struct DimArithmetic;
  static Dim of(const DimExpression* expression) {
    Dim dim;
    dim.expression_ = expression;
    return dim;
  }
  std::int64_t value_ = 0;
  const DimExpression* expression_ = nullptr;  // interned; null for a number
};

Dim operator+(Dim a, Dim b);
Dim operator-(Dim a, Dim b);
Dim operator*(Dim a, Dim b);
/// Rounds down; the divisor must be positive. Exact quotients of polynomials are simplified.
Dim floor_div(Dim a, Dim b);
/// Rounds up.
Dim ceil_div(Dim a, Dim b);
// Statements that hold for every value of the unknowns, which are 1 or more. False means "cannot tell".
bool surely_non_negative(Dim dim);
inline bool surely_at_least(Dim a, Dim b) { return surely_non_negative(a - b); }
/// One factor of a term: an unknown, or a quotient rounded down.
struct DimFactor {
  std::string name;  ///< name of the unknown; empty for a quotient
  Dim numerator, denominator;
};
struct DimTerm {
  std::int64_t coefficient = 0;
  std::vector<DimFactor> factors;
};
/// The terms of the sum, highest degree first.
std::vector<DimTerm> terms_of(Dim dim);
/// The dimension with each unknown replaced for which `replacement` returns a value.
Dim substitute(Dim dim, const std::function<std::optional<Dim>(std::string_view)>& replacement);

/// The quotient, if we can tell that it is exact for every value of the unknowns.
std::optional<Dim> exact_div(Dim a, Dim b);

}  // namespace taso::ops
