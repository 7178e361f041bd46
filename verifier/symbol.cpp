#include "verifier/symbol.h"

#include <cmath>
#include <cstdint>
#include <limits>

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

Symbol Math<Symbol>::divide(const Symbol& a, const Symbol& b) {
  if (is(of(b), 1)) return a;
  if (of(b).is_numeral() && !is(of(b), 0)) return wrap(of(a) / of(b));
  // As a factor: then what is true of products is seen without thinking about division.
  return a * wrap(z3::ite(of(b) == 0, context()->real_val(0), 1 / of(b)));
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
    z3::params sums(z3);
    sums.set("som", true);  // sums of products: polynomial identities vanish here
    z3::expr_vector differences(z3);
    for (const auto& [a, b] : pairs) {
      const z3::expr difference = (of(a) - of(b)).simplify(sums);
      if (!is(difference, 0)) differences.push_back(difference != 0);
    }
    if (differences.empty()) return {Verdict::proved, ""};
    z3::solver solver(z3);
    z3::params limit(z3);
    if (effort != 0) limit.set("rlimit", effort);
    solver.set(limit);
    solver.add(z3::mk_or(differences));
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
