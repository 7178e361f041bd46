// The value of a term once ranks and variables are known.
#pragma once

#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "ops/core/shape.h"
#include "rules/instance/symbolic_operator.h"
#include "rules/language/term.h"

namespace taso::rules {

using TermValue = std::variant<Dim, std::vector<Dim>, RealAttribute, bool>;

/// What the value of a term may depend on.
struct TermContext {
  /// The shape of an input.
  std::function<Shape(const std::string& input)> shape;
  /// The value of an attribute variable; `length` is the expected length if it is a list, 0 if that is unknown.
  std::function<TermValue(const std::string& variable, std::size_t length)> variable;
  /// Decides whether a number is at least 0 (same() takes the maximum of a number and 0).
  std::function<bool(const Dim& number)> is_non_negative;
  /// Whether two numbers differ for all values of their unknowns.
  std::function<bool(const Dim& left, const Dim& right)> differ;
  /// Records what must hold for the term to have a meaning (divisors are positive).
  std::function<void(const Requirement& requirement)> require;
};

/// The term has no value here: an index beyond a list, lists of different lengths. The instance does not exist.
struct NoValue {};

/// The value of the term depends on numbers that are unknown here, or overflows. Such an instance may exist: it is
/// never proved, and the rule is never used there.
struct Undecided {
  std::string reason;
};

/// Throws NoValue, Undecided, and InputError for what can never be right (a list in place of a number).
TermValue evaluate(const Term& term, const TermContext& context, std::size_t length = 0);

Dim as_number(const TermValue& value);
std::vector<Dim> as_list(const TermValue& value);
/// Throws Undecided unless it is a known number.
std::int64_t as_integer(const TermValue& value);
std::vector<std::int64_t> as_integers(const TermValue& value);

}  // namespace taso::rules
