// A tensor's element as a sum of guarded iterated sums: what every operator's result becomes, written over the elements
// of a rule's inputs and the index at which the result is read.
//
// Sum_{k < K} [k < K1] x[i, k] y[k, j] is one term: a coefficient, bound variables, guards, factors. What is not a
// polynomial in the elements (exp, maxima, reciprocals) is an opaque factor with sums of its own inside; guards that do
// not depend on what such a sum binds are kept outside, by distinguishing cases.
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

/// An exact quotient of integers; throws ProofLimit when it overflows.
struct Rational {
  std::int64_t numerator = 0, denominator = 1;
  bool operator==(const Rational&) const = default;
  bool is_zero() const { return numerator == 0; }
};
Rational operator+(Rational a, Rational b);
Rational operator*(Rational a, Rational b);
Rational operator-(Rational a);
Rational inverse(Rational a);  ///< of what is not zero

struct Sum;
using SumPtr = std::shared_ptr<const Sum>;

/// All values of the body where the guards hold, whatever the bound variables are.
struct Alternative {
  std::vector<Variable> bound;
  Constraints guards;
  SumPtr body;
};

/// From `any` on: the first of the workspace's functions of which only the class is known, the second, and so on.
enum class Function : std::size_t { reciprocal, exp, erf, tanh, sqrt, pow, any };

struct Factor {
  enum class Kind {
    access,      ///< an element of input `head` at `index`
    real,        ///< the real number `head` of the workspace: an attribute, or a constant that is no simple fraction
    size,        ///< the integer index[0], as a real number
    reciprocal,  ///< one over the positive integer index[0]
    function,    ///< a Function of the operands
    maximum,     ///< the largest of the alternatives; of none at all it is minus infinity
  };
  Kind kind = Kind::access;
  std::size_t head = 0;
  std::vector<Polynomial> index;
  std::vector<SumPtr> operands;
  std::vector<Alternative> alternatives;
};

/// coefficient * Sum over the bound variables, in their ranges and where the guards hold, of the product of the
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

/// A function that has no value everywhere, applied somewhere on the way to an element, for all values of the variables
/// that meet the guards.
struct Application {
  Function function = Function::reciprocal;
  std::vector<Sum> operands;
  Constraints guards;
};

/// What one proof attempt works with. There is one at a time in each thread.
class Workspace {
 public:
  Workspace(const std::vector<rules::Unknown>& unknowns, const std::vector<rules::Requirement>& hypotheses,
            unsigned effort, std::size_t steps, std::stop_token stop, bool refining = false);
  ~Workspace();
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;
  static Workspace& current();

  /// Throws ProofLimit when the steps are used up, or on request.
  void step(std::size_t count = 1);
  std::size_t real(const std::string& name);  ///< the number of that real

  Facts facts;
  std::vector<AnyFunction> any_functions;
  Constraints reading;  ///< holds wherever the element that is being read counts
  std::vector<std::string> reals;
  Constraints path;  ///< holds wherever the element that is being read is read at all
  /// If not null, applications of partial functions are noted here while `notes` is true.
  std::vector<Application>* applications = nullptr;
  bool notes = false;
  bool plain = false;  ///< no solver and no distinction of cases, for what need not be decided

 private:
  std::size_t steps_;
  std::stop_token stop_;
  Workspace* outer_;
};

/// What is known of a function from `any` on; null for the others.
const AnyFunction* any_function(Function function);

/// Values of variables.
using Substitution = std::vector<std::pair<Variable, Polynomial>>;
const Polynomial* find(const Substitution& substitution, Variable variable);

/// With variables replaced, inside rounded quotients too.
Polynomial substitute(const Polynomial& polynomial, const Substitution& substitution);
Constraint substitute(const Constraint& constraint, const Substitution& substitution);
Factor substitute(const Factor& factor, const Substitution& substitution);
Term substitute(const Term& term, const Substitution& substitution);
SumPtr substitute(const SumPtr& sum, const Substitution& substitution);
Alternative substitute(const Alternative& alternative, const Substitution& substitution);
/// With new names for the variables that it binds at the top.
Term renamed(const Term& term);
/// Whether the variable occurs, inside quotients too.
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
/// The largest value of all alternatives.
Sum maximum(std::vector<Alternative> alternatives);
Sum maximum(const Sum& a, const Sum& b);
Sum minimum(const Sum& a, const Sum& b);

/// The same, with guards decided and variables eliminated as far as bounds allow, where `known` holds.
Sum simplified(const Sum& sum, const Constraints& known = {});
/// Appends the simplified term, which can be none or several.
void simplify_into(std::vector<Term>& terms, Term term, const Constraints& known);
/// Replaces a guard by those that it amounts to; false if it never holds.
bool add_guard(Constraints& guards, const Constraint& guard, const Constraints& known);

/// A guard that does not depend on what its term binds.
std::optional<Constraint> outer_guard(const Sum& sum);
Constraints with(const Constraints& known, const Constraint& more);
/// The sum, if it is a number.
std::optional<Rational> number(const Sum& sum);
Sum single(Factor factor);

/// variable = divisor * upper + lower - rest, where lower is below the divisor, which rids us of
/// floor((variable + rest) / divisor).
struct ChangeOfVariable {
  Variable variable = 0, upper = 0, lower = 0;
  Polynomial value;
};
/// For a rounded quotient among the occurring variables that holds one of the changeable ones; `hidden` are bound
/// further inside and may not appear in the value.
std::optional<ChangeOfVariable> change_of_variable(const std::vector<Variable>& occurring,
                                                   const std::vector<Variable>& changeable,
                                                   const std::vector<Variable>& hidden);
/// Every variable that occurs, those inside rounded quotients and inside opaque factors too.
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

/// With this the operators' own definitions give normal forms.
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
