// A tensor's element as a sum of guarded iterated sums. Every operator's result takes this form, over the elements of a
// rule's inputs and the index at which the result is read.
//
// Sum_{k < K} [k < K1] x[i, k] y[k, j] is one term: a coefficient, bound variables, guards, factors. What is not a
// polynomial in the elements (exp, maxima, reciprocals) is an opaque factor that contains sums; guards that do not
// depend on the variables bound inside are moved outside, by distinguishing cases.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "ops/core/scalar.h"
#include "verifier/integers/facts.h"
#include "verifier/normal_form/any_function.h"

namespace taso::verifier::normal {

/// An exact fraction; throws ProofLimit on overflow.
struct Rational {
  std::int64_t numerator = 0, denominator = 1;
  bool operator==(const Rational&) const = default;
  bool is_zero() const { return numerator == 0; }
};
Rational operator+(Rational a, Rational b);
Rational operator*(Rational a, Rational b);
Rational operator-(Rational a);
Rational inverse(Rational a);  ///< of a non-zero number

struct Sum;
using SumPtr = std::shared_ptr<const Sum>;

/// The values of the body for all bound variables that satisfy the guards.
struct Alternative {
  std::vector<Variable> bound;
  Constraints guards;
  SumPtr body;
};
/// Whether it is a single value, under no condition.
inline bool is_finite(const Alternative& alternative) {
  return alternative.bound.empty() && alternative.guards.empty();
}

/// From `any` on: the workspace's functions of which only the class is known, in their order.
enum class Function : std::size_t { reciprocal, exp, erf, tanh, sqrt, pow, any };

struct Factor {
  enum class Kind {
    access,      ///< an element of input `head` at `index`
    real,        ///< the real number `head` of the workspace: an attribute, or a constant that is not a simple fraction
    size,        ///< the integer index[0], as a real number
    reciprocal,  ///< one over the positive integer index[0]
    function,    ///< a Function of the operands
    maximum,     ///< the largest of the alternatives; minus infinity if there are none
  };
  Kind kind = Kind::access;
  std::size_t head = 0;
  std::vector<Polynomial> index;
  std::vector<SumPtr> operands;
  std::vector<Alternative> alternatives;
};

/// coefficient * the sum, over the bound variables in their ranges where the guards hold, of the product of the
/// factors.
struct Term {
  Rational coefficient{1, 1};
  std::vector<Variable> bound;
  Constraints guards;
  std::vector<Factor> factors;
};

struct Sum {
  std::vector<Term> terms;
};

/// An application of a partial function on the way to an element, for all values of the variables that satisfy the
/// guards.
struct Application {
  Function function = Function::reciprocal;
  std::vector<Sum> operands;
  Constraints guards;
};

/// The state of one proof attempt. Each thread has one at a time.
class Workspace {
 public:
  Workspace(const std::vector<rules::Unknown>& unknowns, const std::vector<rules::Requirement>& hypotheses,
            unsigned effort, std::size_t steps, std::stop_token stop, bool refining = false);
  ~Workspace();
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;
  static Workspace& current();

  /// Throws ProofLimit when the steps are used up, or when asked to stop.
  void step(std::size_t count = 1);
  std::size_t real(const std::string& name);  ///< the index of that real

  Facts facts;
  std::vector<AnyFunction> any_functions;
  std::vector<std::string> reals;
  Constraints path;  ///< holds wherever the element being read is read at all: elsewhere it does not count
  /// If not null, applications of partial functions are recorded here while `notes` is true.
  std::vector<Application>* applications = nullptr;
  bool notes = false;
  bool plain = false;  ///< no solver and no case distinctions, for questions that need no answer

 private:
  std::size_t steps_;
  std::stop_token stop_;
  Workspace* outer_;
};

inline Facts& facts() { return Workspace::current().facts; }

/// What is known about a function from `any` on; null for others.
const AnyFunction* any_function(Function function);

/// Values of variables.
using Substitution = std::vector<std::pair<Variable, Polynomial>>;
const Polynomial* find(const Substitution& substitution, Variable variable);

/// Replaces variables, also inside rounded quotients.
Polynomial substitute(const Polynomial& polynomial, const Substitution& substitution);
Constraint substitute(const Constraint& constraint, const Substitution& substitution);
Factor substitute(const Factor& factor, const Substitution& substitution);
Term substitute(const Term& term, const Substitution& substitution);
SumPtr substitute(const SumPtr& sum, const Substitution& substitution);
Alternative substitute(const Alternative& alternative, const Substitution& substitution);
/// Renames the variables bound at the top.
Term renamed(const Term& term);
/// Whether the variable occurs, also inside quotients.
bool occurs(Variable variable, const Polynomial& polynomial);
bool occurs(Variable variable, const Factor& factor);
bool occurs_any(const std::vector<Variable>& variables, const Polynomial& polynomial);

Sum constant(Rational value);
Sum constant(double value);
Sum real_attribute(const std::string& name);
Sum access(std::size_t input, std::vector<Polynomial> index);
Sum reciprocal_of_size(const Polynomial& size);
/// The sum where the guards hold, and 0 elsewhere.
Sum guarded(const Sum& sum, const Constraints& guards);
/// Sum over variables, each in its range.
Sum iterated(const Sum& sum, const std::vector<Variable>& variables);
Sum operator+(const Sum& a, const Sum& b);
Sum operator-(const Sum& a, const Sum& b);
Sum operator*(const Sum& a, const Sum& b);
Sum scaled(const Sum& sum, Rational factor);
Sum apply(Function function, const std::vector<Sum>& operands);
/// The same for what a side does not apply itself: it is not recorded as an application.
Sum apply_silently(Function function, const std::vector<Sum>& operands);
/// The largest value of all alternatives.
Sum maximum(std::vector<Alternative> alternatives);
Sum maximum(const Sum& a, const Sum& b);
Sum minimum(const Sum& a, const Sum& b);

/// The sum with guards decided and variables eliminated as far as bounds allow, assuming `known`.
Sum simplified(const Sum& sum, const Constraints& known = {});
/// Appends the simplified term, which can become none or several.
void simplify_into(std::vector<Term>& terms, Term term, const Constraints& known);
/// Adds the guard, replaced by equivalent simpler ones; false if it never holds.
bool add_guard(Constraints& guards, const Constraint& guard, const Constraints& known);

/// A guard that does not depend on the variables that its term binds.
std::optional<Constraint> outer_guard(const Sum& sum);
Constraints with(const Constraints& known, const Constraint& more);
/// The sum, if it is a number.
std::optional<Rational> number(const Sum& sum);
Sum single(Factor factor);

/// variable = divisor * upper + lower - rest, with lower below the divisor. This eliminates floor((variable + rest) /
/// divisor).
struct ChangeOfVariable {
  Variable variable = 0, upper = 0, lower = 0;
  Polynomial value;
};
/// Finds a rounded quotient among the occurring variables that contains a changeable one; `hidden` variables are bound
/// further inside and must not appear in the value.
std::optional<ChangeOfVariable> change_of_variable(const std::vector<Variable>& occurring,
                                                   const std::vector<Variable>& changeable,
                                                   const std::vector<Variable>& hidden);
/// Every variable that occurs, also inside rounded quotients and opaque factors.
void collect_variables(const Term& term, std::vector<Variable>& variables);
void collect_variables(const Sum& sum, std::vector<Variable>& variables);
/// Every variable that the factor binds somewhere.
void collect_binders(const Factor& factor, std::vector<Variable>& variables);
/// The conditions under which `value` lies in the variable's range.
void add_range(Constraints& guards, const Polynomial& value, Variable variable);

std::string text(const Sum& sum);
std::string text(const Term& term);

}  // namespace taso::verifier::normal

namespace taso::ops {

/// Makes the operators' own definitions compute normal forms.
template <>
struct Math<verifier::normal::Sum> {
  using S = verifier::normal::Sum;
  static S constant(double value) { return verifier::normal::constant(value); }
  static S divide(const S& a, const S& b) {
    return a * verifier::normal::apply(verifier::normal::Function::reciprocal, {b});
  }
  static S maximum(const S& a, const S& b) { return verifier::normal::maximum(a, b); }
  static S minimum(const S& a, const S& b) { return verifier::normal::minimum(a, b); }
  static S exp(const S& a) { return verifier::normal::apply(verifier::normal::Function::exp, {a}); }
  static S erf(const S& a) { return verifier::normal::apply(verifier::normal::Function::erf, {a}); }
  static S tanh(const S& a) { return verifier::normal::apply(verifier::normal::Function::tanh, {a}); }
  static S sqrt(const S& a) { return verifier::normal::apply(verifier::normal::Function::sqrt, {a}); }
  static S pow(const S& a, const S& b) { return verifier::normal::apply(verifier::normal::Function::pow, {a, b}); }
  static S sqrt_two() { return sqrt(constant(2)); }
};

}  // namespace taso::ops
