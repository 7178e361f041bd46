#include "verifier/symbol.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <set>

#include <z3++.h>

#include "ops/error.h"

namespace taso {
namespace {

// One for each thread, kept as long as any expression lives in it. A fresh one costs 10 ms.
const std::shared_ptr<z3::context>& context() {
  thread_local const auto mine = std::make_shared<z3::context>();
  return mine;
}

}  // namespace

struct SymbolExpression {
  std::shared_ptr<z3::context> owner;  // outlives the expression below
  z3::expr expression;

  static Symbol wrap(z3::expr expression) {
    return Symbol(std::make_shared<const SymbolExpression>(SymbolExpression{context(), std::move(expression)}));
  }
  static const z3::expr& of(const Symbol& symbol) {
    check(symbol.expression_->owner == context(), "a symbol is used by the thread that made it");
    return symbol.expression_->expression;
  }
};

namespace {

const z3::expr& of(const Symbol& symbol) { return SymbolExpression::of(symbol); }
Symbol wrap(z3::expr expression) { return SymbolExpression::wrap(std::move(expression)); }

// The operators' sums start at 0 and their padding multiplies by 0: without these, expressions drown in both.
bool is(const z3::expr& e, std::int64_t value) {
  std::int64_t number = 0;
  return e.is_numeral_i64(number) && number == value;
}

z3::expr power_of_two(unsigned exponent) {
  z3::expr power = context()->real_val(1);
  for (; exponent >= 32; exponent -= 32) power = (power * context()->real_val("4294967296")).simplify();
  return (power * context()->real_val(static_cast<std::int64_t>(std::uint64_t{1} << exponent))).simplify();
}

}  // namespace

Symbol Symbol::variable(std::string_view name) { return wrap(context()->real_const(std::string(name).c_str())); }

Symbol Symbol::constant(double value) {
  if (std::isnan(value)) return variable("not a number");
  if (std::isinf(value)) return variable(value > 0 ? "infinity" : "-infinity");
  int exponent = 0;
  const double fraction = std::frexp(value, &exponent);
  const z3::expr mantissa = context()->real_val(static_cast<std::int64_t>(std::ldexp(fraction, 53)));
  exponent -= 53;
  const z3::expr power = power_of_two(static_cast<unsigned>(std::abs(exponent)));
  return wrap((exponent < 0 ? mantissa / power : mantissa * power).simplify());
}

std::string Symbol::text() const { return of(*this).simplify().to_string(); }

Symbol operator+(const Symbol& a, const Symbol& b) {
  if (is(of(a), 0)) return b;
  if (is(of(b), 0)) return a;
  return wrap(of(a) + of(b));
}

Symbol operator-(const Symbol& a, const Symbol& b) {
  if (is(of(b), 0)) return a;
  return wrap(of(a) - of(b));
}

Symbol operator*(const Symbol& a, const Symbol& b) {
  if (is(of(a), 0) || is(of(b), 1)) return a;
  if (is(of(b), 0) || is(of(a), 1)) return b;
  return wrap(of(a) * of(b));
}

// Quotients are products with inverses, and the inverse of a product is the product of inverses, the inverse of 0 being 0:
// so most equalities between quotients become equalities of polynomials in the inverses, which need no search.
namespace {

constexpr const char* inverse_name = "1/";

z3::func_decl inverse_function() {
  return context()->function(inverse_name, context()->real_sort(), context()->real_sort());
}

z3::expr inverse(const z3::expr& divisor) {
  if (is(divisor, 0)) return divisor;
  if (divisor.is_numeral()) return (context()->real_val(1) / divisor).simplify();
  if (!divisor.is_app()) return inverse_function()(divisor);
  switch (divisor.decl().decl_kind()) {
    case Z3_OP_MUL: {
      z3::expr product = context()->real_val(1);
      for (unsigned i = 0; i < divisor.num_args(); ++i) product = product * inverse(divisor.arg(i));
      return product;
    }
    case Z3_OP_UMINUS: return -inverse(divisor.arg(0));
    case Z3_OP_UNINTERPRETED:
      if (divisor.num_args() == 1 && divisor.decl().name().str() == inverse_name) return divisor.arg(0);
      break;
    default: break;
  }
  return inverse_function()(divisor);
}

z3::expr expanded(const z3::expr& e) {
  z3::params sums(*context());
  sums.set("som", true);  // sums of products: polynomial identities vanish here
  return e.simplify(sums);
}

/// Every divisor but 0 gives 1 with its inverse.
void collect_inverses(const z3::expr& e, std::set<unsigned>& seen, z3::expr_vector& laws) {
  if (!e.is_app() || !seen.insert(Z3_get_ast_id(*context(), e)).second) return;
  if (e.num_args() == 1 && e.decl().name().str() == inverse_name) laws.push_back(z3::ite(e.arg(0) == 0, e == 0, e * e.arg(0) == 1));
  for (unsigned i = 0; i < e.num_args(); ++i) collect_inverses(e.arg(i), seen, laws);
}

}  // namespace

Symbol Math<Symbol>::divide(const Symbol& a, const Symbol& b) {
  if (is(of(b), 1) || is(of(a), 0)) return a;
  return a * wrap(inverse(expanded(of(b))));
}

Symbol Math<Symbol>::maximum(const Symbol& a, const Symbol& b) { return wrap(z3::ite(of(a) >= of(b), of(a), of(b))); }

Symbol Math<Symbol>::minimum(const Symbol& a, const Symbol& b) { return wrap(z3::ite(of(a) <= of(b), of(a), of(b))); }

Symbol Math<Symbol>::lowest() { return constant(-std::numeric_limits<double>::infinity()); }

Symbol Math<Symbol>::call(const char* name, const std::vector<Symbol>& operands) {
  z3::context& z3 = *context();
  z3::sort_vector domain(z3);
  z3::expr_vector arguments(z3);
  for (const Symbol& operand : operands) {
    domain.push_back(z3.real_sort());
    arguments.push_back(of(operand));
  }
  return wrap(z3.function(name, domain, z3.real_sort())(arguments));
}

Verdict prove_equal(const std::vector<std::pair<Symbol, Symbol>>& pairs, unsigned effort) {
  z3::context& z3 = *context();
  try {
    z3::expr_vector differences(z3);
    for (const auto& [a, b] : pairs) {
      if (z3::eq(of(a), of(b))) continue;  // expressions are shared: the same one, however large
      const z3::expr difference = expanded(of(a) - of(b));
      if (!is(difference, 0)) differences.push_back(difference != 0);
    }
    if (differences.empty()) return {Verdict::proved, ""};
    z3::solver solver(z3);
    z3::params limit(z3);
    if (effort != 0) limit.set("rlimit", effort);
    solver.set(limit);
    solver.add(z3::mk_or(differences));
    std::set<unsigned> seen;
    z3::expr_vector laws(z3);
    for (const z3::expr& difference : differences) collect_inverses(difference, seen, laws);
    for (const z3::expr& law : laws) solver.add(law);
    switch (solver.check()) {
      case z3::unsat: return {Verdict::proved, ""};
      case z3::sat: {
        const z3::model model = solver.get_model();
        std::string reason;
        for (unsigned i = 0; i < model.num_consts(); ++i) {
          const z3::func_decl unknown = model.get_const_decl(i);
          reason += (i ? ", " : "") + unknown.name().str() + " = " + model.get_const_interp(unknown).to_string();
        }
        return {Verdict::refuted, reason.empty() ? "they differ whatever the unknowns are" : reason};
      }
      default: return {Verdict::unknown, solver.reason_unknown()};
    }
  } catch (const z3::exception& error) {
    return {Verdict::unknown, error.msg()};
  }
}

}  // namespace taso
