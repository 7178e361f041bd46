// What a term denotes once ranks and variables are known.
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
  /// The value of an attribute variable; `length` is how long it should be if it is a list, 0 for "not known".
  std::function<TermValue(const std::string& variable, std::size_t length)> variable;
  /// Decides whether a number is 0 at least (same() takes the greater of a number and 0).
  std::function<bool(const Dim& number)> is_non_negative;
  /// Whether two numbers are different for all values of their unknowns.
  std::function<bool(const Dim& left, const Dim& right)> differ;
  /// Notes what must hold for the term to mean anything (divisors are positive).
  std::function<void(const Requirement& requirement)> require;
};

/// The term has no meaning here: an index beyond a list, lists of different lengths. The instance does not exist.
struct NoValue {};

/// What the term means depends on numbers that are not known here, or is beyond the numbers that we have. Such an
/// instance may exist: it is never proved, and a rule is never used there.
struct Undecided {
  std::string reason;
};

/// Throws NoValue, Undecided, and InputError for what can never be right (a list where a number must stand).
TermValue evaluate(const Term& term, const TermContext& context, std::size_t length = 0);

Dim as_number(const TermValue& value);
std::vector<Dim> as_list(const TermValue& value);
/// Throws Undecided unless it is a number that is known.
std::int64_t as_integer(const TermValue& value);
std::vector<std::int64_t> as_integers(const TermValue& value);

}  // namespace taso::rules
