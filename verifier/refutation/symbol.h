// A number that is a Z3 expression over the reals: with it, an operator's meaning becomes a formula that can be proved.
// exp, erf, tanh, sqrt and pow are uninterpreted: what is proved of them holds for any functions in their place.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ops/core/scalar.h"

namespace taso::verifier {

struct SymbolExpression;

/// Belongs to the thread that made it: each thread has its own Z3 context, and symbols of different threads cannot be
/// mixed.
class Symbol {
 public:
  /// An unknown real; the same name gives the same unknown.
  static Symbol variable(std::string_view name);
  /// The exact double, as a rational number. Infinities and NaN are not real, and become unknowns.
  static Symbol constant(double value);

  std::string text() const;

  friend Symbol operator+(const Symbol& a, const Symbol& b);
  friend Symbol operator-(const Symbol& a, const Symbol& b);
  friend Symbol operator*(const Symbol& a, const Symbol& b);

 private:
  friend struct ops::Math<Symbol>;
  friend struct SymbolExpression;
  explicit Symbol(std::shared_ptr<const SymbolExpression> expression) : expression_(std::move(expression)) {}
  std::shared_ptr<const SymbolExpression> expression_;
};

struct SymbolMath {
  static Symbol constant(double value) { return Symbol::constant(value); }
  /// Division by zero gives 0, as in the prime field; nothing is claimed about floating-point numbers there.
  static Symbol divide(const Symbol& a, const Symbol& b);
  static Symbol maximum(const Symbol& a, const Symbol& b);
  static Symbol minimum(const Symbol& a, const Symbol& b);
  static Symbol lowest();
  static Symbol exp(const Symbol& a) { return call("exp", {a}); }
  static Symbol erf(const Symbol& a) { return call("erf", {a}); }
  static Symbol tanh(const Symbol& a) { return call("tanh", {a}); }
  static Symbol sqrt(const Symbol& a) { return call("sqrt", {a}); }
  static Symbol pow(const Symbol& a, const Symbol& b) { return call("pow", {a, b}); }
  static Symbol sqrt_two() { return sqrt(constant(2)); }

 private:
  static Symbol call(const char* name, const std::vector<Symbol>& operands);
};

/// The solver's answer. "unknown" includes its limits, and is never taken for "wrong".
struct Verdict {
  enum Kind { proved, refuted, unknown } kind = unknown;
  std::string reason;  ///< refuted: the counterexample; unknown: what stopped the solver
};

/// Whether the pairs are equal for all values of the unknowns. `effort` is Z3's step limit, which is the same on every
/// machine; 0 for no limit.
Verdict prove_equal(const std::vector<std::pair<Symbol, Symbol>>& pairs, unsigned effort = 20'000'000);

}  // namespace taso::verifier

namespace taso::ops {

template <>
struct Math<verifier::Symbol> : verifier::SymbolMath {};

}  // namespace taso::ops
